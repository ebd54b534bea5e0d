"""Access control of a site: its addresses, the pages that may connect, and the token."""

import ipaddress
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import urlsplit

from reviewdesk.domain.tags import reviewer_name
from reviewdesk.errors import UsageError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HINT = "Write it as https://desk.example.org."


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def public_origin(url: str) -> str:
    """Return the origin of a server's public address, as browsers write it.

    Raise UsageError if it is not the address of a server's root.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(f"--public-url: {url!r} is not an address", _HINT) from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc:
        raise UsageError(f"--public-url: {url!r} is not an address", _HINT)
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise UsageError(
            f"--public-url: {url!r} has a path", "Give the console a host name of its own."
        )
    return _origin(parts.scheme, parts.hostname, port)


def _origin(scheme: str, host: str, port: int | None) -> str:
    host = f"[{host}]" if ":" in host else host
    if port in {None, _DEFAULT_PORTS[scheme]}:
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"


@dataclass(frozen=True, slots=True)
class SignOn:
    """A proxy that signs people on, and names each of them in a header of its requests."""

    header: str
    proxies: tuple[IPv4Network | IPv6Network, ...]

    @classmethod
    def of(cls, header: str | None, proxies: Sequence[str]) -> "SignOn | None":
        """Return the sign-on of the options, ``None`` without them.

        Raise UsageError if only one option is given, or one is not valid.
        """
        if header is None and not proxies:
            return None
        if header is None or not proxies:
            raise UsageError(
                "--trust-header and --trusted-proxy: one is missing",
                "Name the header, and the address from which the proxy sends it.",
            )
        if not re.fullmatch(r"[A-Za-z0-9-]+", header):
            raise UsageError(f"--trust-header: {header!r} is not a header", "Write X-Remote-User.")
        try:
            return cls(header, tuple(map(ipaddress.ip_network, proxies)))
        except ValueError as error:
            raise UsageError(f"--trusted-proxy: {error}", "Write 127.0.0.1 or ::1.") from None

    def reviewer(self, peer: str | None, given: Sequence[str]) -> str | None:
        """Return whom a request names; ``None`` if not from the proxy, or not exactly one person.

        ``peer`` is the address that the request came from, ``given`` each value of the header.
        """
        try:
            address = ipaddress.ip_address(peer or "")
            address = getattr(address, "ipv4_mapped", None) or address
            # A server in between may join the values of a repeated header with commas.
            once = len(given) == 1 and "," not in given[0]
            if not once or not any(address in one for one in self.proxies):
                return None
            return reviewer_name(given[0])
        except (ValueError, UsageError):
            return None


@dataclass(frozen=True, slots=True)
class Site:
    """The address of a server, its public origins, and the credential that gives access.

    The credential is the token of the link or, behind a ``sign_on``, the name from its proxy.
    """

    host: str
    port: int
    public: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    sign_on: SignOn | None = None

    def __post_init__(self) -> None:
        """Refuse to listen everywhere without a name, as any page could then be pointed here."""
        if _is_everywhere(self.host) and not self.public:
            raise UsageError(
                f"--host {self.host}: listens at every address, and none of them is named",
                "Name the one that people type: --public-url http://HOST:PORT.",
            )

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins that are served, those of a reverse proxy first."""
        names = ["localhost", "127.0.0.1", "::1"] if is_loopback(self.host) else [self.host]
        if _is_everywhere(self.host):
            names = []
        names.sort(key=lambda name: name != self.host)
        return (*self.public, *(_origin("http", name, self.port) for name in names))

    @property
    def link(self) -> str:
        """The address that people open; its token gives access to anyone who has it."""
        return f"{self.origins[0]}/" + ("" if self.sign_on else f"?token={self.token}")

    @property
    def cookie(self) -> str:
        """The name of the cookie that keeps the token; browsers share cookies among ports."""
        return f"reviewdesk-{self.port}"

    def origin_of(self, host: str | None) -> str | None:
        """Return the origin that a ``Host`` header names, ``None`` if it is not served here."""
        named = (host or "").lower()
        return next((one for one in self.origins if one.partition("://")[2] == named), None)

    def may_connect(self, origin: str | None) -> bool:
        return origin is not None and origin.lower() in self.origins

    def lets_in(self, query: Sequence[str], cookies: Mapping[str, str]) -> bool:
        """Return True if the token is right: that of the address if given, else of the cookie."""
        given = query[-1] if query else cookies.get(self.cookie, "")
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def headers(origin: str | None) -> dict[str, str]:
    """Return the headers of every response; pages load nothing external and cannot be framed."""
    sockets = f" {'ws' + origin.removeprefix('http')}" if origin else ""
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        # The terminal of the page writes the sizes of its cells into style elements.
        "style-src": "'self' 'unsafe-inline'",
        "font-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self'{sockets}",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
