import type { Request } from 'express'
import { catalogue, escapeHtml, type Problem, splitFix } from '../../core/kit/index.ts'
import { htmlPage } from './html-page.ts'

/** People open links of mails below this path in browsers. */
const publicPath = '/api/public/'

/** True for a browser that opened a public link; a program gets the problem as JSON. */
export const wantsPage = (request: Request): boolean => request.path.startsWith(publicPath) && request.accepts(['json', 'html']) === 'html'

/** A problem for a person. */
export function problemPage({ code, message }: Problem): string {
  const { what, fix } = splitFix(message)
  const next = fix === undefined ? '' : `\n<p>Next: ${escapeHtml(fix)}</p>`
  // A link needs no account, only the token in it.
  const title = code === 'FORBIDDEN' ? 'This link does not work' : catalogue[code].title
  return htmlPage(`<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(what)}</p>${next}`)
}
