import { z } from 'zod'
import { admin, type Contract, endpoint } from '../contract/index.ts'
import { reasonLength } from '../kit/index.ts'
import { ImportDrops } from './import-plan.ts'
import { BoxImport } from './import-record.ts'
import { Slug } from './names.ts'

const ofBox = '/api/admin/v1/boxes/:slug'
const bySlug = z.object({ slug: Slug })
const Reason = z.string().trim().min(reasonLength.min).max(reasonLength.max)
const Asked = z.object({ commandId: z.string() })

/** The import of a foreign stack. */
export const importContract = {
  planImport: endpoint({
    method: 'POST',
    audit: 'box.import.asked',
    path: `${ofBox}/import/plan`,
    auth: admin('operator'),
    cost: 'plan',
    params: bySlug,
    body: z.strictObject({
      drop: ImportDrops.default([]).meta({ description: 'Names of what the box may lack, as an earlier plan lists them' }),
    }),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT'],
    summary: 'Plan the import of an observed stack (read-only); the plan is in the result of the command',
  }),
  importBox: endpoint({
    method: 'POST',
    audit: 'box.import.importing',
    path: `${ofBox}/import`,
    auth: admin('operator'),
    cost: 'plan',
    params: bySlug,
    body: z.strictObject({
      drop: ImportDrops.default([]).meta({ description: 'Names of what the box may lack, as the plan lists them' }),
      reason: Reason,
    }),
    returns: BoxImport,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD', 'PORT_TAKEN'],
    summary: 'Import an observed stack: a box is made of its data and takes over its addresses; the stack stays stopped and complete',
  }),
  readImport: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing and reads nothing of users' },
    path: `${ofBox}/import/state`,
    auth: admin('operator'),
    params: bySlug,
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT'],
    summary: 'Read what undoing an import would lose and what finishing it would remove; it is in the result of the command',
  }),
  undoImport: endpoint({
    method: 'POST',
    audit: 'box.import.undoing',
    path: `${ofBox}/import/undo`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ reason: Reason }),
    returns: BoxImport,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD', 'INVALID_TRANSITION'],
    summary: 'Undo an import: stop the box and start its foreign stack; what was written in the box is not in the stack',
  }),
  finishImport: endpoint({
    method: 'POST',
    audit: 'box.import.finishing',
    path: `${ofBox}/import/finish`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      reason: Reason,
      volumes: z.boolean().default(false).meta({ description: 'Remove the volumes of the stack too' }),
    }),
    returns: BoxImport,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD', 'INVALID_TRANSITION'],
    summary: 'Finish an import: remove the stopped containers of its foreign stack',
  }),
} as const satisfies Contract
