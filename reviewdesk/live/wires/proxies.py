"""Find the proxy that the environment sets for an address."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import TransportError

_USABLE = ("http://", "https://")


def proxy_for(url: str) -> str | None:
    """Return the system's proxy for a URL, or ``None``; this machine itself never has one.

    Raises:
        TransportError: the proxy is of a kind that requests cannot be sent through.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_loopback(host) or proxy_bypass(host):
        return None
    found = getproxies()
    own = found.get(parts.scheme)
    proxy = own or found.get("all")
    if not proxy or "://" not in proxy:
        return f"http://{proxy}" if proxy else None
    if proxy.lower().startswith(_USABLE):
        return proxy
    variable = f"{parts.scheme}_proxy" if own else "all_proxy"
    raise TransportError(
        "endpoint",
        f"{variable.upper()} names a {show_line(proxy.partition(':')[0], 20)} proxy, and only http "
        "and https ones are used; set another one, or name the host in NO_PROXY",
    )


def address_text(proxy: str) -> str:
    """Return a proxy's address without the credentials in it."""
    parts = urlsplit(proxy)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
