import type { Request, Response } from 'express'
import { sha256Hex } from '../../core/kit/index.ts'

/** A JSON answer that is kept: its text and the tag of exactly this text. */
export type Tagged = Readonly<{ text: string; etag: string }>

/** Serialises an answer once. The tag is strong: two answers with one tag are the same bytes. */
export function tagged(answer: unknown): Tagged {
  const text = JSON.stringify(answer)
  return { text, etag: `"${sha256Hex(text).slice(0, 32)}"` }
}

/** 304 without a body to whoever has this answer. It is the caller's own, so no cache in between may keep it, and none is used without asking. */
export function sendTagged(request: Request, response: Response, { text, etag }: Tagged): void {
  response.setHeader('etag', etag)
  response.setHeader('cache-control', 'private, no-cache')
  response.vary('Authorization')
  if (holds(request.headers['if-none-match'], etag)) return void response.status(304).end()
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.setHeader('content-length', Buffer.byteLength(text))
  response.status(200).end(request.method === 'HEAD' ? undefined : text)
}

/** Whether the client has it already: `*`, or a list that names the tag; a proxy that compressed an answer made its tag a weak one. */
export function holds(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag) return true
  const names = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? []
  return ifNoneMatch.trim() === '*' || names.some((name) => name.replace(/^W\//, '') === etag)
}
