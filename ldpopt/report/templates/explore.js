"use strict";
// The slider below a curve: the methods at one level, and one of their mechanisms. Text goes in as text.
for (const box of document.querySelectorAll(".explore")) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const [slider, select] = [box.querySelector("input"), box.querySelector("select")];
  const [output, panel] = [box.querySelector("output"), box.querySelector(".panel")];
  const svg = box.parentElement.querySelector("svg");
  const make = (tag, text, parent, attributes = {}) => {
    const element = parent.appendChild(document.createElement(tag));
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const width = svg.viewBox.baseVal.width;
  for (const [name, value] of Object.entries({ class: "cursor", y1: 0, y2: data.foot })) line.setAttribute(name, value);
  svg.append(line);
  const show = () => {
    const at = Number(slider.value), level = data.levels[at];
    output.textContent = `ε = ${level}`;
    slider.setAttribute("aria-valuetext", output.textContent);
    const place = data.places[at];
    line.toggleAttribute("hidden", place === null);
    for (const name of ["x1", "x2"]) line.setAttribute(name, place ?? 0);
    const method = data.methods[select.selectedIndex], point = method.points[at];
    panel.replaceChildren();
    if (!point) return void make("p", `${method.name} was not computed at ε = ${level}.`, panel);
    const accuracy = point.accuracy.length ? `; from as many rows as the table's: ${point.accuracy.join(", ")}` : "";
    make("p", `${method.name} at ε = ${level}: ${point.value}, ${data.measure}${accuracy}. ${method.promise} [not checked]`, panel);
    if (!point.rows.length) return void make("p", `In this panel, mechanisms of more than ${data.most} probabilities are not listed.`, panel);
    const label = `Mechanism of ${method.name} at ε = ${level}, a table`;
    const region = make("div", "", panel, { class: "scroll tall", role: "region", tabindex: "0", "aria-label": label });
    const table = make("table", "", region, { class: "heat" });
    const head = make("tr", "", make("thead", "", table));
    make("th", "input", head, { scope: "col" });
    point.rows[0].forEach((_, y) => make("th", `report ${y}`, head, { scope: "col" }));
    const body = make("tbody", "", table), size = text => Number(text.replace("≈", ""));
    const most = Math.max(...point.rows.flat().map(size));
    point.rows.forEach((row, x) => {
      const tr = make("tr", "", body);
      make("th", data.inputs[x] ?? String(x), tr, { scope: "row" });
      for (const p of row) make("td", p, tr).style.setProperty("--p", size(p) / most);
    });
  };
  const pick = event => {
    const frame = svg.getBoundingClientRect(), x = (event.clientX - frame.left) / frame.width * width;
    const far = data.places.map(place => place === null ? Infinity : Math.abs(place - x));
    slider.value = far.indexOf(Math.min(...far));
    show();
  };
  svg.addEventListener("click", pick);
  svg.addEventListener("pointermove", event => event.buttons && pick(event));
  slider.addEventListener("input", show);
  select.addEventListener("change", show);
  box.hidden = false;
  show();
}
