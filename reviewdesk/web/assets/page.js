// Tells the terminal of the page where its console is, and offers a new one when it has ended.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const address = new URL("/ws", window.location.href);
  address.protocol = address.protocol.replace("http", "ws");
  document.getElementById("terminal").dataset.sessionWebsocketUrl = address.href;

  const again = document.getElementById("again");
  again.addEventListener("click", () => window.location.replace("/"));

  // Keys go to the terminal once it draws, and to the button when it has ended.
  new MutationObserver(() => {
    const { classList } = document.body;
    if (classList.contains("-closed")) {
      again.focus();
    } else if (classList.contains("-first-byte")) {
      document.querySelector(".xterm-helper-textarea").focus();
    }
  }).observe(document.body, { attributeFilter: ["class"] });
});
