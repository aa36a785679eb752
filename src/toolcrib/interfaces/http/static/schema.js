// Reads JSON Schemas: what a parameter is called in a table, and what could stand in it.

export function follow(part, root) {
  for (let hops = 0; typeof part?.$ref === "string" && hops < 20; hops += 1) {
    if (!part.$ref.startsWith("#/")) return part;
    const target = part.$ref.slice(2).split("/").reduce((node, key) => node?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    const { $ref, ...rest } = part;
    part = { ...target, ...rest };
  }
  return part ?? {};
}

export function typeName(part, root) {
  if (part.enum) return part.enum.map((value) => JSON.stringify(value)).join(" | ");
  if ("const" in part) return JSON.stringify(part.const);
  const choices = part.anyOf ?? part.oneOf;
  if (choices) return choices.map((choice) => typeName(follow(choice, root), root)).join(" | ");
  if (part.type === "array") return `${typeName(follow(part.items ?? {}, root), root)}[]`;
  const name = Array.isArray(part.type) ? part.type.join(" | ") : part.type ?? "any";
  return part.contentEncoding ? `${name} (${part.contentEncoding})` : part.format ? `${name} (${part.format})` : name;
}

export function sample(schema, root = schema, depth = 0) {
  const part = follow(schema, root);
  if (part.examples?.length) return part.examples[0];
  if ("default" in part) return part.default;
  if ("const" in part) return part.const;
  if (part.enum) return part.enum[0];
  const choice = (part.anyOf ?? part.oneOf)?.find((item) => item.type !== "null");
  if (choice && depth < 6) return sample(choice, root, depth + 1);
  const type = Array.isArray(part.type) ? part.type.find((name) => name !== "null") : part.type;
  if (type === "object" || part.properties) return sampleObject(part, root, depth);
  if (type === "array") {
    if (depth > 5) return [];
    const items = follow(part.items ?? {}, root);
    const count = Math.min(Math.max(part.minItems ?? 0, isPicture(items) ? 2 : 1), 4);
    return Array.from({ length: count }, (_, index) => (isPicture(items) ? square(index) : sample(items, root, depth + 1)));
  }
  if (type === "integer" || type === "number") return part.minimum ?? 1;
  if (type === "boolean") return false;
  if (isPicture(part)) return square(0);
  return type === "string" ? "" : null;
}

function sampleObject(part, root, depth) {
  const required = new Set(part.required ?? []);
  const entries = Object.entries(part.properties ?? {}).filter(([name, raw]) => {
    const inner = follow(raw, root);
    return depth < 6 && (required.has(name) || (inner.default ?? null) !== null || inner.examples?.length);
  });
  // Long values last, so that the short ones are seen.
  const values = entries.map(([name, raw]) => [name, sample(raw, root, depth + 1)]);
  return Object.fromEntries(values.sort((a, b) => isLong(a[1]) - isLong(b[1])));
}

function isLong(value) {
  return JSON.stringify(value).length > 120;
}

function isPicture(part) {
  return part.contentEncoding === "base64" && (part.contentMediaType ?? "image/png").startsWith("image/");
}

function square(index) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 32, height: 32 });
  const pen = canvas.getContext("2d");
  pen.fillStyle = ["#0b6e66", "#e3b04b", "#b3261e", "#3b5b92"][index % 4];
  pen.fillRect(0, 0, 32, 32);
  return canvas.toDataURL("image/png").split(",")[1];
}
