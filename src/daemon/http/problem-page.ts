import type { Request } from 'express'
import { catalogue, escapeHtml, type Problem } from '../../core/kit/index.ts'

/** People open links of mails below this path in browsers. */
const publicPath = '/api/public/'

/** True for a browser that opened a public link; a program gets the problem as JSON. */
export const wantsPage = (request: Request): boolean => request.path.startsWith(publicPath) && request.accepts(['json', 'html']) === 'html'

/** A problem for a person. No script and nothing from elsewhere. */
export function problemPage({ code, message }: Problem): string {
  const [what = message, fix] = message.split(/\s*\bfix: /, 2)
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tenantry</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<link rel="stylesheet" href="/docs/style.css"></head><body><main>
<h1>${escapeHtml(catalogue[code].title)}</h1>
<p>${escapeHtml(what)}</p>${fix === undefined ? '' : `\n<p>Next: ${escapeHtml(fix)}</p>`}
</main></body></html>
`
}
