import type { RequestHandler } from 'express'
import { maxChunks, problem } from '../../core/kit/index.ts'
import { endBody, hasBody } from './body-time.ts'

/**
 * Ends a body in chunks so small that they take more memory and time than their bytes. It counts what the parser hands over, so it holds for
 * every reader.
 */
export const limitBodyChunks: RequestHandler = (request, response, next) => {
  if (hasBody(request)) {
    const push = request.push.bind(request)
    let [bytes, chunks, isOver] = [0, 0, false]
    request.push = (chunk: Buffer | null, encoding) => {
      bytes += chunk?.length ?? 0
      if (chunk === null || (!isOver && ++chunks <= maxChunks(bytes))) return push(chunk, encoding)
      if (!isOver) endBody(request, response, problem('VALIDATION', 'The body comes in too many small chunks.'))
      isOver = true
      return false
    }
  }
  next()
}
