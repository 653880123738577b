import { errcodeOf, errorOf, type ServiceAnswer, type ServiceRequest } from '../../core/homeserver/index.ts'
import type { TenantId } from '../../core/kit/index.ts'
import { type CallDeps, enter, isAnswer, isCaller } from './call.ts'

/** A request of the application service, or of the box's administrator: for rooms and what is in them. */
export async function sendToChat(deps: CallDeps, tenantId: TenantId, request: ServiceRequest): Promise<ServiceAnswer> {
  const { method, path, body, as, admin = false } = request
  const caller = await enter(deps, tenantId, method === 'GET' ? 'read' : 'write')
  if (!isCaller(caller)) return caller
  const asked = as === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}user_id=${encodeURIComponent(as)}`
  const answer = await caller.call({ method, path: asked, ...(body === undefined ? {} : { body }), as: admin ? 'admin' : 'service' })
  if (!isAnswer(answer)) return answer
  if (answer.status >= 200 && answer.status < 300) return { kind: 'ok', json: answer.json ?? {} }
  return { kind: 'refused', status: answer.status, errcode: errcodeOf(answer), reason: errorOf(answer) }
}
