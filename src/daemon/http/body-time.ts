import type { Request, RequestHandler, Response } from 'express'
import { type Problem, problem } from '../../core/kit/index.ts'

/** Real time, not the injected clock: it bounds how long a client may occupy a socket. */
const maxBodyMs = 30_000

/**
 * Closes the connection of a request whose body does not arrive in time, answered or not: without this, anyone could occupy a socket until the
 * limit for the largest upload. The caller of an upload is identified first, and then gets that limit.
 */
export const limitBodyTime =
  (limitMs = maxBodyMs): RequestHandler =>
  (request, response, next) => {
    if (hasBody(request)) {
      const late = () => problem('UNAVAILABLE', `The request body did not arrive within ${limitMs / 1000} s.`)
      const timer = setTimeout(() => endBody(request, response, late()), limitMs)
      response.locals.allowSlowBody = () => clearTimeout(timer)
      request.once('end', response.locals.allowSlowBody).once('close', response.locals.allowSlowBody)
    }
    next()
  }

/** From here only the limit of the server applies to the body. */
export const allowSlowBody = (response: Response): void => response.locals.allowSlowBody?.()

export function hasBody({ headers }: Request): boolean {
  const length = headers['content-length']
  return length === undefined ? headers['transfer-encoding'] !== undefined : length !== '0'
}

/** Answers with the problem if nothing else was answered, and closes the connection: its caller would send the rest of the body. */
export function endBody(request: Request, response: Response, reason: Problem): void {
  if (request.complete) return // arrived, but not read yet
  if (response.headersSent) return void request.socket.destroy()
  response.once('finish', () => request.socket.destroy())
  response.set('connection', 'close').status(reason.status).json(reason.toBody())
}
