// The links from page to page: they keep the timeline that is in the address.

const links = document.querySelectorAll("nav.pages a");

function follow() {
  for (const link of links) link.hash = location.hash;
}

window.addEventListener("hashchange", follow);
follow();
