import { isProblem, type Problem, problem } from '../../core/kit/index.ts'
import { noAnswerOf } from '../db/index.ts'

/** What a database says of a transaction that it ended because it met another: nothing of it was kept, and a second try goes through. */
const metAnother = new Set(['40P01', '40001', '55P03', 'SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT'])

/** The problem that an exception of the web framework or of a handler stands for; what is not expected becomes INTERNAL without its text. */
export function asProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  const { type, status, code } = error as { type?: string; status?: number; code?: string }
  if (code !== undefined && metAnother.has(code))
    return problem('UNAVAILABLE', 'this met another change and nothing of it was done: try again', { cause: error })
  const without = noAnswerOf(error)
  if (without === 'slow') return problem('UNAVAILABLE', 'the database takes too long at the moment: try again shortly', { cause: error })
  if (without === 'away')
    return problem('UNAVAILABLE', 'what this needs does not answer at the moment: try again shortly', { cause: error })
  if (type === 'entity.parse.failed') return problem('BAD_JSON', 'the body is not JSON: check quotes and commas')
  if (type === 'entity.too.large') return problem('PAYLOAD_TOO_LARGE', 'the body is larger than this endpoint takes')
  if (type === 'encoding.unsupported' || type === 'charset.unsupported')
    return problem('UNSUPPORTED_MEDIA_TYPE', 'send the body as UTF-8 JSON without another encoding')
  if (status === 400 || error instanceof URIError) return problem('VALIDATION', 'the address or body of the request cannot be read')
  return problem('INTERNAL', 'a fault of the daemon: its log tells more under this request id', { cause: error })
}
