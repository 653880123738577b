import type { Request, Response } from 'express'
import { sha256Hex } from '../../core/kit/index.ts'

/** A serialised JSON response and its tag. */
export type Tagged = Readonly<{ text: string; etag: string; bytes?: Buffer }>

/** Serialises a response once. The tag is strong: the same tag means the same bytes. */
export function tagged(answer: unknown): Tagged {
  const text = JSON.stringify(answer)
  return { text, etag: `"${sha256Hex(text).slice(0, 32)}"` }
}

/** The same for a large document that is sent often: encoded once. */
export function encoded(answer: unknown): Tagged {
  const { text, etag } = tagged(answer)
  const bytes = Buffer.from(text)
  return {
    etag,
    bytes,
    get text() {
      return bytes.toString()
    },
  }
}

/** Sends 304 if the client has the response. It is private and must be revalidated before reuse. */
export function sendTagged(request: Request, response: Response, tagged: Tagged): void {
  const { etag } = tagged
  response.setHeader('etag', etag)
  response.setHeader('cache-control', 'private, no-cache')
  response.vary('Authorization')
  if (matchesEtag(request.headers['if-none-match'], etag)) return void response.status(304).end()
  response.setHeader('content-type', 'application/json; charset=utf-8')
  const body = tagged.bytes ?? tagged.text
  response.setHeader('content-length', Buffer.byteLength(body))
  response.status(200).end(request.method === 'HEAD' ? undefined : body)
}

/** True for `*` and for a list with the tag, weak or strong: a compressing proxy weakens tags. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag) return true
  const names = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? []
  return ifNoneMatch.trim() === '*' || names.some((name) => name.replace(/^W\//, '') === etag)
}
