type Operation = {
  operationId: string
  summary: string
  description?: string
  security: readonly Record<string, unknown>[]
  'x-lowest-role'?: string
  parameters: readonly { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string }>
  tags: readonly string[]
}
type Schema = {
  type?: string
  properties?: Record<string, Schema>
  required?: readonly string[]
  description?: string
  enum?: readonly unknown[]
  format?: string
}
type Document = { info: { title: string; version: string }; paths: Record<string, Record<string, Operation>> }

const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** Text of the document, with its backticks as code. */
const marked = (text: string) => escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')

/** `/docs`: one page made from the OpenAPI document, without scripts and without anything from elsewhere. */
export function docsPage(document: Record<string, unknown>): string {
  const { info, paths } = document as unknown as Document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const rooms = [...new Set(operations.map(({ operation }) => operation.tags[0] as string))]
  const section = (tag: string) =>
    `<h2 id="${tag}">${tag}</h2>${operations
      .filter(({ operation }) => operation.tags[0] === tag)
      .map(article)
      .join('')}`
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(info.title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/docs/style.css"></head><body>
<header><h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1><p>Machine-readable: <a href="/openapi.json">/openapi.json</a></p>
<nav>${rooms.map((tag) => `<a href="#${tag}">${tag}</a>`).join(' ')}</nav></header><main>${rooms.map(section).join('')}</main></body></html>`
}

function article({ path, method, operation }: { path: string; method: string; operation: Operation }): string {
  const body = operation.requestBody?.content['application/json']?.schema
  const role = operation['x-lowest-role'] ? `role ${operation['x-lowest-role']}` : Object.keys(operation.security[0] ?? {})[0]
  return `<details id="${operation.operationId}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escaped(path)}</code> <span>${escaped(operation.summary)}</span></summary>
<p>${role ? `Needs: ${escaped(role)}.` : 'Open to anyone.'} ${marked(operation.description ?? '')}</p>
${fields(
  'Parameters',
  operation.parameters.map(({ name, in: place, required, schema }) => [`${name} (${place})`, required, schema]),
)}
${fields(
  'Body',
  Object.entries(body?.properties ?? {}).map(([name, schema]) => [name, body?.required?.includes(name) ?? false, schema]),
)}
<h4>Answers</h4><dl>${Object.entries(operation.responses)
    .map(([status, { description }]) => `<dt>${status}</dt><dd>${marked(description)}</dd>`)
    .join('')}</dl></details>`
}

function fields(title: string, rows: readonly (readonly [string, boolean, Schema])[]): string {
  if (rows.length === 0) return ''
  const kind = (schema: Schema) => schema.enum?.map(String).join(' | ') ?? schema.format ?? schema.type ?? 'object'
  const row = ([name, required, schema]: readonly [string, boolean, Schema]) =>
    `<tr><td><code>${escaped(name)}</code></td><td>${escaped(kind(schema))}</td><td>${required ? 'required' : ''}</td><td>${escaped(schema.description ?? '')}</td></tr>`
  return `<h4>${title}</h4><table>${rows.map(row).join('')}</table>`
}

export const docsStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fbfbfa}
h1 small{color:#6b7480;font-weight:400}h2{margin-top:2.5rem;text-transform:capitalize}nav a{margin-right:1rem}a{color:#0b5fa5}
details{border-bottom:1px solid #e3e5e8;padding:.5rem 0}summary{cursor:pointer;padding-left:5.4rem;text-indent:-5.4rem}summary *{text-indent:0}summary span{color:#55606c}code{font-size:.95em}
b{display:inline-block;min-width:4.2rem;font-size:.8rem}.get{color:#1a6f3c}.post{color:#0b5fa5}.delete{color:#a5300b}.patch,.put{color:#8a5a00}
table{border-collapse:collapse;width:100%}td{padding:.2rem .8rem .2rem 0;vertical-align:top;border-top:1px solid #eceef0}dt{float:left;width:3.5rem;font-weight:600}dd{margin-left:3.5rem}details>:not(summary){margin-left:4.6rem}h4{margin:1rem 0 .3rem}small,summary span{font-size:.95em}
@media(prefers-color-scheme:dark){body{color:#dfe4ea;background:#14181d}a,.post{color:#7fb8ea}.get{color:#7fd3a0}.delete{color:#f09a7c}.patch,.put{color:#e2b75c}details,td{border-color:#2b323a}summary span,h1 small{color:#98a3af}}`
