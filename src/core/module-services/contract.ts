import { z } from 'zod'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { ModuleId } from '../modules/index.ts'
import { UpstreamUrl } from './upstream.ts'

const Service = z.object({
  moduleId: z.string(),
  url: z.string(),
  host: z.string().meta({ description: 'What tenants consent to: an installation that was activated for another host is not called' }),
  failures: z.int().meta({ description: 'Calls in a row without an answer' }),
  restUntil: Timestamp.nullable().meta({ description: 'No installation is called before this time' }),
  waiting: z.int().meta({ description: 'Installations whose next event was not delivered yet' }),
  withoutConsent: z.int().meta({ description: 'Active installations that were activated for another host' }),
  updatedAt: Timestamp,
})
export type Service = z.infer<typeof Service>

const DeadLetter = z.object({
  id: z.string().meta({ description: 'The id of the message, as the service got it' }),
  tenant: z.string(),
  seq: z.int(),
  eventType: z.string(),
  attempts: z.int(),
  error: z.string(),
  createdAt: Timestamp,
})

const base = '/api/admin/v1/modules/:id'
const params = z.object({ id: ModuleId })

/** Services of type B modules, for operators. */
export const moduleServicesContract = {
  setModuleUpstream: endpoint({
    method: 'PUT',
    audit: 'module.upstream_set',
    path: `${base}/upstream`,
    auth: admin('operator'),
    params,
    body: z.strictObject({
      url: UpstreamUrl,
      rotateSecret: z.boolean().default(false).meta({ description: 'Replace the signing secret; the former one ends at once' }),
    }),
    returns: Service.extend({ signingSecret: z.string().nullable().meta({ description: 'Shown once: for a new or a rotated secret' }) }),
    problems: ['NOT_FOUND', 'CONFLICT'],
    summary: 'Set the address of the service of a type B module',
  }),
  showModuleUpstream: endpoint({
    method: 'GET',
    path: `${base}/upstream`,
    auth: admin('viewer'),
    params,
    returns: Service,
    problems: ['NOT_FOUND'],
    summary: 'Show the service of a type B module',
  }),
  listModuleDeadLetters: endpoint({
    method: 'GET',
    path: `${base}/dead-letters`,
    auth: admin('viewer'),
    params,
    query: Paging,
    returns: z.object({ deadLetters: z.array(DeadLetter), nextCursor: z.string().nullable() }),
    summary: 'List events that the service of a module did not take, newest first',
  }),
} as const satisfies Contract
