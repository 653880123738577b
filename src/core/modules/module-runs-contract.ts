import { z } from 'zod'
import { type Contract, endpoint, platform, raw } from '../contract/index.ts'
import { ModuleId } from './manifest.ts'

export const moduleRunsContract = {
  callModule: endpoint({
    ...{ method: 'POST', anyMethod: true, path: '/api/platform/v1/module-api/:moduleId', rest: true, auth: platform() },
    audit: { none: 'own data of users; their events record it' },
    cost: 'module',
    params: z.strictObject({ moduleId: ModuleId }),
    returns: raw,
    problems: [
      ...(['BAD_JSON', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'CONFLICT'] as const),
      ...(['MODULE_FAILED', 'MODULE_LIMIT', 'MODULE_SERVICE_FAILED', 'NOT_IMPLEMENTED', 'UNAVAILABLE'] as const),
    ],
    summary: 'Call a route of an active module, with any method and below any path',
    spec: '2.7',
  }),
} as const satisfies Contract
