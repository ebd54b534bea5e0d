import pytest

from reviewdesk.errors import UsageError
from reviewdesk.web.access import SignOn, Site, headers, public_origin

EVERYWHERE = "0.0.0.0"  # noqa: S104
LOCAL = Site("127.0.0.1", 8765)
BEHIND = Site("127.0.0.1", 8765, ("https://desk.example.org",))


def test_each_server_has_a_long_token_of_its_own() -> None:
    assert len(LOCAL.token) >= 43  # 32 bytes in base64
    assert LOCAL.token != BEHIND.token
    assert LOCAL.token not in repr(LOCAL)


@pytest.mark.parametrize(
    ("site", "host", "origin"),
    [
        (LOCAL, "127.0.0.1:8765", "http://127.0.0.1:8765"),
        (LOCAL, "LOCALHOST:8765", "http://localhost:8765"),
        (LOCAL, "[::1]:8765", "http://[::1]:8765"),
        (LOCAL, "127.0.0.1", None),
        (LOCAL, "127.0.0.1:80", None),
        (LOCAL, "evil.example:8765", None),
        (LOCAL, "", None),
        (LOCAL, None, None),
        (LOCAL, "desk.example.org", None),
        (BEHIND, "desk.example.org", "https://desk.example.org"),
        (BEHIND, "desk.example.org:8765", None),
        (BEHIND, "127.0.0.1:8765", "http://127.0.0.1:8765"),
        (Site("192.0.2.7", 80), "192.0.2.7", "http://192.0.2.7"),
        (Site("192.0.2.7", 80), "localhost", None),
        (Site(EVERYWHERE, 8765, ("http://desk:8765",)), "desk:8765", "http://desk:8765"),
        (Site(EVERYWHERE, 8765, ("http://desk:8765",)), "0.0.0.0:8765", None),
    ],
)
def test_only_named_addresses_are_served(site: Site, host: str | None, origin: str | None) -> None:
    assert site.origin_of(host) == origin


@pytest.mark.parametrize(
    ("origin", "may"),
    [
        ("https://desk.example.org", True),
        ("http://127.0.0.1:8765", True),
        ("http://localhost:8765", True),
        ("http://desk.example.org", False),
        ("https://desk.example.org:8443", False),
        ("https://desk.example.org.evil.example", False),
        ("http://127.0.0.1:8766", False),
        ("null", False),
        ("", False),
        (None, False),
    ],
)
def test_only_pages_of_the_server_open_a_console(origin: str | None, may: bool) -> None:
    assert BEHIND.may_connect(origin) is may


def test_a_token_in_the_address_counts_before_that_of_the_cookie() -> None:
    right = {LOCAL.cookie: LOCAL.token}
    assert LOCAL.lets_in([LOCAL.token], {})
    assert LOCAL.lets_in([], right)
    assert not LOCAL.lets_in([], {})
    assert not LOCAL.lets_in(["wrong"], right)
    assert not LOCAL.lets_in([""], right)
    assert not LOCAL.lets_in([LOCAL.token[:-1]], {})
    assert not LOCAL.lets_in([], {LOCAL.cookie: "é\ud800"})
    assert not LOCAL.lets_in([], {"reviewdesk-1": LOCAL.token})


PROXY = SignOn.of("X-Remote-User", ["127.0.0.1", "10.0.0.0/24"])


@pytest.mark.parametrize(
    ("peer", "given", "name"),
    [
        ("127.0.0.1", ["ann"], "ann"),
        ("::ffff:127.0.0.1", [" ann  lee "], "ann lee"),  # IPv4 on a socket of IPv6
        ("10.0.0.9", ["ann@example.org"], "ann@example.org"),
        ("127.0.0.2", ["ann"], None), ("10.0.1.9", ["ann"], None), ("::1", ["ann"], None),
        ("", ["ann"], None), (None, ["ann"], None), ("127.0.0.1", [], None),
        ("127.0.0.1", [""], None),
        ("127.0.0.1", ["ann", "ann"], None),
        ("127.0.0.1", ["eve, ann"], None),  # repeated, and joined on the way
        ("127.0.0.1", ["@desk"], None),
        ("127.0.0.1", ["a" * 61], None),
        ("127.0.0.1", ["ann\x1b[31m"], None),
    ],
)  # fmt: skip
def test_the_proxy_alone_says_who_asks(peer: str | None, given: list[str], name: str) -> None:
    assert PROXY is not None
    assert PROXY.reviewer(peer, given) == name


def test_a_sign_on_needs_a_header_and_the_address_that_sends_it() -> None:
    assert SignOn.of(None, []) is None
    for header, proxies in (("X-User", []), (None, ["::1"]), ("X User", ["::1"]), ("X", ["desk"])):
        with pytest.raises(UsageError, match="--trust"):
            SignOn.of(header, proxies)
    assert Site("::1", 80, sign_on=PROXY).link == "http://[::1]/"


def test_the_link_leads_to_the_proxy_where_there_is_one() -> None:
    assert LOCAL.link == f"http://127.0.0.1:8765/?token={LOCAL.token}"
    assert BEHIND.link == f"https://desk.example.org/?token={BEHIND.token}"
    assert Site("::1", 8765).link.startswith("http://[::1]:8765/?token=")


@pytest.mark.parametrize("host", [EVERYWHERE, "::", ""])
def test_listening_everywhere_needs_a_name(host: str) -> None:
    with pytest.raises(UsageError, match="--public-url"):
        Site(host, 8765)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Desk.Example.org", "https://desk.example.org"),
        ("https://desk.example.org:443/", "https://desk.example.org"),
        ("http://desk:8080", "http://desk:8080"),
        ("http://[2001:db8::1]:8080", "http://[2001:db8::1]:8080"),
    ],
)
def test_an_address_is_read_as_browsers_write_origins(url: str, origin: str) -> None:
    assert public_origin(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        "desk.example.org", "ftp://desk", "https://", "https://me@desk", "https://desk/path",
        "https://desk/?a=b", "https://desk/#a", "https://desk:port", "http://[::1", "",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="--public-url"):
        public_origin(url)


def test_a_page_loads_from_its_own_server_alone() -> None:
    found = headers("https://desk.example.org")
    policy = dict(part.split(" ", 1) for part in found["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self' wss://desk.example.org"
    assert "http:" not in found["Content-Security-Policy"]
    assert found["Referrer-Policy"] == "no-referrer"
    assert "connect-src 'self';" in headers(None)["Content-Security-Policy"]
