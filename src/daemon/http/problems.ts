import { type Actor, isProblem, type Problem, problem } from '../../core/kit/index.ts'
import { noAnswerOf } from '../db/index.ts'

/** Database errors of transactions that conflicted with another and were rolled back; a retry succeeds. */
const conflictCodes = new Set(['40P01', '40001', '55P03', 'SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT'])

/** Converts an exception to a problem. Unexpected exceptions become INTERNAL without their message. */
export function asProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  const { type, status, code } = error as { type?: string; status?: number; code?: string }
  if (code !== undefined && conflictCodes.has(code))
    return problem('UNAVAILABLE', 'Concurrent change; nothing was changed. Retry.', { cause: error })
  const without = noAnswerOf(error)
  if (without === 'slow') return problem('UNAVAILABLE', 'The database is too slow at the moment. Retry shortly.', { cause: error })
  if (without === 'away') return problem('UNAVAILABLE', 'The database does not answer at the moment. Retry shortly.', { cause: error })
  if (type === 'entity.parse.failed') return problem('BAD_JSON', 'The request body is not valid JSON.')
  if (type === 'entity.too.large') return problem('PAYLOAD_TOO_LARGE', 'The request body is larger than the limit of this endpoint.')
  if (type === 'encoding.unsupported' || type === 'charset.unsupported')
    return problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8 JSON without content encoding.')
  if (type === 'charset.mismatch') return problem('BAD_JSON', 'The request body is not UTF-8. fix: encode the JSON text as UTF-8')
  if (status === 400 || error instanceof URIError) return problem('VALIDATION', 'The URL or body of the request is malformed.')
  return problem('INTERNAL', 'Internal error of the daemon; see its log for this request id.', { cause: error })
}

/** The problem as the caller may read it: only admins get the table and row of a sealed value. */
export const shownTo = (actor: Actor | undefined, found: Problem): Problem =>
  found.code === 'SEALED_UNREADABLE' && actor?.kind !== 'admin'
    ? problem(found.code, 'A stored secret cannot be opened; see the log of the daemon for this request id.', { cause: found })
    : found
