"""The endpoint of a juror, and the proxy that the environment sets for it."""

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import quote, urlencode, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from msgspec.structs import asdict

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.vendors import VENDORS, VendorWire, Wire, key_variable
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import TransportError


class Endpoint(VendorWire, frozen=True, kw_only=True):
    """The address of one juror's endpoint, and how to call it."""

    url: str
    host: str
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers, each with the variable that holds its value."""


@lru_cache(maxsize=256)
def endpoint(juror: Juror) -> Endpoint:
    """Return the endpoint of a juror; TransportError for an unknown vendor or unusable address."""
    vendor = VENDORS.get(juror.vendor)
    if vendor is None:
        raise TransportError("endpoint", f"there is no vendor {juror.vendor!r}")
    base = juror.base_url or vendor.base_url
    if not base:
        raise TransportError("endpoint", f"the vendor {juror.vendor} needs a base_url")
    row = asdict(vendor) | {"key_env": key_variable(juror.vendor, juror.api_key_env)}
    return Endpoint(
        **row,
        url=_azure_url(base, juror) if juror.vendor == "azure" else _wire_url(base, vendor.wire),
        host=urlsplit(base).netloc.rpartition("@")[2],
        headers=tuple(juror.headers.items()),
    )


def _azure_url(base: str, juror: Juror) -> str:
    root = base.rstrip("/").removesuffix("/v1").removesuffix("/openai")
    if juror.api_version is None:
        return _wire_url(f"{root}/openai/v1", Wire.CHAT)
    name = quote(juror.deployment or juror.model, safe="")
    url = _wire_url(f"{root}/openai/deployments/{name}", Wire.CHAT)
    return f"{url}?{urlencode({'api-version': juror.api_version})}"


def _wire_url(base: str, wire: Wire) -> str:
    try:
        parts = urlsplit(base)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    # An error repeats no part of a wrong URL, because it may contain a password.
    if not usable:
        raise TransportError("endpoint", "the base_url is not an http or https address")
    if "@" in parts.netloc:
        raise TransportError(
            "endpoint", "the base_url contains a user name or password; give a key variable"
        )
    path = parts.path.rstrip("/") + wire.value
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def proxy_for(url: str) -> str | None:
    """Return the system's proxy for a URL; this machine's own addresses have none."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        is_own = ip_address(host).is_loopback
    except ValueError:
        is_own = host.lower() == "localhost"
    if is_own or proxy_bypass(host):
        return None
    found = getproxies()
    own = found.get(parts.scheme)
    proxy = own or found.get("all")
    if not proxy or "://" not in proxy:
        return f"http://{proxy}" if proxy else None
    if proxy.lower().startswith(("http://", "https://")):
        return proxy
    variable = f"{parts.scheme}_proxy" if own else "all_proxy"
    raise TransportError(
        "endpoint",
        f"{variable.upper()} names a {show_line(proxy.partition(':')[0], 20)} proxy, and only http "
        "and https ones are used; set another one, or name the host in NO_PROXY",
    )


def address_text(proxy: str) -> str:
    parts = urlsplit(proxy)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
