// The style sheet's colours, light and dark: text is legible (WCAG 2, AA), and categories that touch in a picture are told apart
// without full colour vision.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import test from "node:test";

const css = readFileSync(new URL("../../web/page.css", import.meta.url), "utf8");

function coloursOf(block) {
  const colours = {};
  for (const [, name, value] of block.matchAll(/--(\w+): (#[0-9a-f]{3,6})\b/g)) {
    const digits = value.length === 4 ? [...value.slice(1)].map((d) => d + d).join("") : value.slice(1);
    colours[name] = [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255);
  }
  const tint = /--tint: (\d+)%/.exec(block);
  return {...colours, tint: tint && Number(tint[1]) / 100};
}
const [light, dark] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, block]) => coloursOf(block));
const CATEGORIES = Object.keys(light).filter((name) => /^c\d+$/.test(name));
const themes = {light, dark: {...light, ...dark}};

const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const luminance = (colour) => colour.map(linear).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => {
  const [less, more] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (more + 0.05) / (less + 0.05);
};

// Full deficiency after Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency", 2009, in linear RGB.
const DEFICIENCIES = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

// Distance in OKLab (Ottosson, 2020); a just noticeable difference is some 0.02.
function oklab(rgb) {
  const times = (rows, v) => rows.map((row) => row.reduce((sum, of, i) => sum + of * v[i], 0));
  const lms = times([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                     [0.0883024619, 0.2817188376, 0.6299787005]], rgb).map((c) => Math.cbrt(Math.max(0, c)));
  return times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.808675766]], lms);
}
const seen = (colour, rows) => oklab(rows.map((row) => row.reduce((sum, of, i) => sum + of * linear(colour[i]), 0)));
const apart = (a, b, rows) => Math.hypot(...seen(a, rows).map((c, i) => c - seen(b, rows)[i]));

for (const [name, colours] of Object.entries(themes)) {
  test(name + ": text has the contrast of AA on every ground", () => {
    for (const ink of ["text", "soft", "accent", "yes", "may", "no", "limit"]) {
      for (const ground of ["surface", "page"]) {
        const of = contrast(colours[ink], colours[ground]);
        assert.ok(of >= 4.5, ink + " on " + ground + ": " + of.toFixed(2));
      }
    }
    assert.ok(contrast(colours.mark, colours.surface) >= 3);
  });

  test(name + ": text has the contrast of AA on the tints of the treemap", () => {
    for (const name of [...CATEGORIES, "grew", "shrank"]) {
      const tint = colours[name].map((part, i) => colours.tint * part + (1 - colours.tint) * colours.surface[i]);
      const of = contrast(colours.text, tint);
      assert.ok(of >= 4.5, name + ": " + of.toFixed(2));
    }
    assert.ok(contrast(colours.text, colours.free) >= 4.5);
  });

  test(name + ": categories differ for each kind of colour vision", () => {
    for (const [kind, rows] of Object.entries(DEFICIENCIES)) {
      for (const [i, a] of CATEGORIES.entries()) {
        for (const b of CATEGORIES.slice(0, i)) {
          const of = apart(colours[a], colours[b], rows);
          assert.ok(of >= 0.06, kind + ": " + b + " and " + a + " are " + of.toFixed(3) + " apart");
        }
      }
    }
  });
}
