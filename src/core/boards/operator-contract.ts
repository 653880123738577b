import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging } from '../contract/index.ts'
import { FlowBundle } from './bundle.ts'
import { importBody, importLimit } from './bundle-contract.ts'
import { BoardFinding, BoardStatus, BoardSummary, Id, Version } from './contract.ts'
import { BoardDefinition } from './definition.ts'
import { Simulation, SimulationScript } from './simulate.ts'

const base = '/api/admin/v1/tenants/:slug/boards'
const ofTenant = z.object({ slug: Slug })
const one = z.object({ slug: Slug, id: Id })

/** A board of a tenant as operators list it. */
const OperatorBoard = BoardSummary.extend({
  spaceName: z.string().nullable().meta({ description: 'The name of the space in `spaceId`, also of a deleted one' }),
})
export type OperatorBoard = Readonly<z.infer<typeof OperatorBoard>>

/** A board without its content: no roles, rooms, forms, texts and expressions. */
const BoardStructure = OperatorBoard.extend({
  columns: BoardDefinition.shape.columns.unwrap(),
  elements: z.array(z.object({ id: z.string(), kind: z.string(), label: z.string(), columnId: z.string().nullable() })),
  edges: z.array(z.object({ source: z.string(), target: z.string(), condition: z.string() })),
})
export type BoardStructure = Readonly<z.infer<typeof BoardStructure>>

const bySupport = '; the tenant must grant support access'

/** Boards for operators of the platform. */
export const operatorBoardsContract = {
  listTenantBoards: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    params: ofTenant,
    query: Paging.extend({ status: BoardStatus.optional() }),
    returns: z.object({ boards: z.array(OperatorBoard), nextCursor: z.string().nullable() }),
    summary: 'List the boards of a tenant, newest first',
  }),
  importTenantBoard: endpoint({
    method: 'POST',
    audit: 'board.imported',
    path: `${base}/import`,
    auth: admin('operator'),
    cost: 'import',
    params: ofTenant,
    body: importBody,
    bodyLimit: importLimit,
    returns: BoardSummary,
    status: 201,
    problems: ['CONFLICT', 'PAYLOAD_TOO_LARGE'],
    summary: 'Import a bundle as a draft of a tenant',
  }),
  showTenantBoard: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: one,
    query: z.object({ version: Version.optional().meta({ description: 'Default: the last saved version' }) }),
    returns: BoardStructure,
    summary: 'Show the structure of a board, without roles, forms and texts',
  }),
  checkTenantBoard: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: `${base}/:id/check`,
    auth: admin('viewer'),
    cost: 'simulation',
    params: one,
    returns: z.object({ name: z.string(), version: z.int(), findings: z.array(BoardFinding) }),
    summary: 'Check the last saved version of a board',
  }),
  exportTenantBoard: endpoint({
    method: 'GET',
    path: `${base}/:id/export`,
    auth: admin('operator'),
    cost: 'export',
    params: one,
    returns: FlowBundle,
    problems: ['BOARD_INVALID'],
    summary: `Export a board as a bundle${bySupport}`,
  }),
  simulateTenantBoard: endpoint({
    method: 'POST',
    audit: 'support.used',
    path: `${base}/:id/simulate`,
    auth: admin('operator'),
    cost: 'simulation',
    params: one,
    body: SimulationScript.prefault({}),
    bodyLimit: 1024 * 1024,
    returns: Simulation,
    problems: ['BOARD_INVALID', 'PAYLOAD_TOO_LARGE'],
    summary: `Play a board with scripted answers${bySupport}`,
  }),
} as const satisfies Contract
