/** The proxies' page: asks for the report once a second and shows it. Text only: nothing that players send is HTML. */

const PERIOD_MS = 1000;
const byId = (id) => document.getElementById(id);
const millis = (value, digits = 1) => (value === null || value === undefined ? "–" : `${value.toFixed(digits)} ms`);
const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(2)} %` : "–");
const sum = (players, figure) => players.reduce((total, player) => total + figure(player), 0);

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function explained(text, title) {
  const made = element("span", "", text);
  made.title = title;
  return made;
}

/** The figures on top: value, name, explanation. */
function figures(report) {
  const { players } = report;
  const actions = sum(players, (player) => player.actions);
  if (report.role === "client") {
    const updates = sum(players, (player) => player.updates);
    return [
      [players.length, "players", "Addresses that play through this proxy"],
      [updates, "updates shown", "Datagrams of the game server"],
      [percent(sum(players, (player) => player.late), updates), "later than for others", "Updates that arrived after everybody else had seen them"],
      [actions, "actions sent", "Datagrams of the players' games"],
    ];
  }
  const held = players.filter((player) => player.added_down_ms !== null);
  const mean = held.length ? sum(held, (player) => player.added_down_ms) / held.length : null;
  const waited = actions ? sum(players, (player) => player.added_up_ms * player.actions) / actions : null;
  const guaranteed = players.filter((player) => player.standing === "guaranteed").length;
  return [
    [`${guaranteed} of ${players.length}`, "have a guaranteed place", "The others are away, silent or farther away than the cap"],
    [millis(mean), "added to updates", "What holding updates adds on average, so that everybody sees them at once (Sync-out)"],
    [millis(waited), "added to actions", "What actions wait on average for earlier ones that may still come (Sync-in)"],
    [percent(sum(players, (player) => player.behind), actions), "served behind later ones", "Actions that were served after some that are later in fair order"],
  ];
}

const SERVER_COLUMNS = [
  ["player", "Number and address", (player) => `${player.player} · ${player.from}`],
  ["place", "Whether the others wait for it", (player) => player.standing],
  ["delay ↓ ↑", "Usual one-way delays, by the session's clock", (player) => (player.delay_ms ? player.delay_ms.map((one) => one.toFixed(1)).join(" · ") + " ms" : "–")],
  ["round trip", "The least, and the jitter above it", (player) => (player.round_trip_ms ? `${player.round_trip_ms[0].toFixed(1)} + ${player.round_trip_ms[1].toFixed(1)} ms` : "–")],
  ["added ↓", "What holding adds to updates", (player) => millis(player.added_down_ms)],
  ["added ↑", "What waiting adds to actions", (player) => millis(player.added_up_ms)],
  ["actions", "Served", (player) => player.actions],
  ["ahead", "Served ahead of earlier ones", (player) => percent(player.ahead, player.actions)],
  ["behind", "Served behind later ones", (player) => percent(player.behind, player.actions)],
  ["clamped", "Tags that claimed more than is possible: a few come from jitter, many from a liar", (player) => player.clamped],
];

const CLIENT_COLUMNS = [
  ["player", "Number and address", (player) => `${player.player} · ${player.from}`],
  ["tunnel", "Whether the server side is reached", (player) => (player.is_connected ? "open" : "reconnecting")],
  ["clock", "How wrong its clock may be at most", (player) => (player.clock_error_ms === null ? "not fixed yet" : `± ${player.clock_error_ms.toFixed(1)} ms`)],
  ["updates", "Arrived", (player) => player.updates],
  ["late", "Arrived after everybody else had seen them", (player) => percent(player.late, player.updates)],
  ["not held", "Shown at once, because there was no session time yet", (player) => player.not_held],
  ["actions", "Sent", (player) => player.actions],
];

function showTable(columns, players) {
  const head = element("tr", "");
  for (const [name, title] of columns) head.append(element("th", "", explained(name, title)));
  byId("head").replaceChildren(head);
  byId("rows").replaceChildren(...players.map((player) => {
    const row = element("tr", "");
    for (const [name, , value] of columns) {
      const isGood = player.standing === "guaranteed";
      const className = name === "place" ? (isGood ? "guaranteed" : "beyond") : "";
      row.append(element("td", className, String(value(player))));
    }
    return row;
  }));
}

function showBars(players) {
  const known = players.filter((player) => player.delay_ms !== null);
  const longest = Math.max(1, ...known.map((player) => player.delay_ms[0] + player.added_down_ms));
  byId("bars").replaceChildren(...known.map((player) => {
    const [own, added] = [player.delay_ms[0], player.added_down_ms];
    const part = (className, value) => {
      const made = element("span", className);
      made.style.width = `${(100 * Math.max(0, value)) / longest}%`;
      return made;
    };
    const track = element("div", "track", part("own", own), part("added", added));
    return element("div", "bar", element("span", "", `player ${player.player}`), track, element("span", "sum", `${own.toFixed(1)} + ${added.toFixed(1)} ms`));
  }));
}

function show(report) {
  const isServer = report.role === "server";
  document.querySelector("header").classList.toggle("lost", report.is_connected === false);
  byId("about").textContent = isServer
    ? `server side, for the game at ${report.game} · order: ${report.order} · updates ${report.out ? "shown to everybody at once" : "not held"} · nobody is delayed by more than ${report.cap_ms} ms each way`
    : `client side of ${report.server}${report.is_connected === false ? ": not reached, trying again" : ""}`;
  byId("figures").replaceChildren(...figures(report).map(([value, name, title]) => {
    const figure = element("div", "figure", element("span", "value", String(value)), element("span", "name", name));
    figure.title = title;
    return figure;
  }));
  byId("nobody").hidden = report.players.length > 0;
  byId("when").parentElement.hidden = !isServer;
  byId("legend").replaceChildren(element("span", "key own"), "the player's own delay", element("span", "key added"), "added by the service");
  if (isServer) showBars(report.players);
  showTable(isServer ? SERVER_COLUMNS : CLIENT_COLUMNS, report.players);
}

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch("/api/players", { signal: AbortSignal.timeout(3000) });
      show(await answer.json());
    } catch {
      document.querySelector("header").classList.add("lost");
      byId("about").textContent = "the proxy does not answer: is it still running?";
    }
  }
  setTimeout(refresh, PERIOD_MS);
}

refresh();
