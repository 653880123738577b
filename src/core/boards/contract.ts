import { z } from 'zod'
import { type Contract, empty, endpoint, Paging, platform, Timestamp } from '../contract/index.ts'
import { isVisible, visiblePattern } from '../kit/index.ts'
import { BoardDefinition } from './definition.ts'

export const base = '/api/platform/v1/cascade-boards'
export const Id = z.string().min(1).max(100)
export const one = z.object({ id: Id })
export const Version = z.coerce.number().int().min(1).max(1_000_000)

export const BoardName = z
  .string()
  .max(200)
  .trim()
  .min(1)
  .refine(isVisible, 'must not contain control characters')
  .meta({ pattern: visiblePattern })

export const BoardStatus = z.enum(['draft', 'active', 'archived'])

export const BoardSummary = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  spaceId: z.string().nullable().meta({ description: 'The space of its runs; null: each run names its space' }),
  status: BoardStatus,
  version: z.int().meta({ description: 'Number of the last saved version' }),
  publishedVersion: z.int().nullable().meta({ description: 'The version that new runs begin with' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type BoardSummary = Readonly<z.infer<typeof BoardSummary>>

export const Board = BoardSummary.extend({ definition: BoardDefinition })

export const BoardFinding = z.object({
  severity: z.enum(['error', 'warning']),
  code: z.string(),
  elementId: z.string().nullable(),
  message: z.string(),
  path: z.array(z.string()).optional().meta({ description: 'The elements that lead to the fault, first to last' }),
})

const fields = {
  name: BoardName,
  description: z
    .string()
    .max(4_000)
    .regex(/^[^\0]*$/, 'must not contain NUL')
    .default(''),
  spaceId: Id.nullable().default(null).meta({ description: 'A space you are a member of' }),
  definition: BoardDefinition,
}

export const manage = platform('manageBoards')
const bodyLimit = 4 * 1024 * 1024

export const boardsContract = {
  listBoards: endpoint({
    method: 'GET',
    path: base,
    auth: manage,
    query: Paging.extend({ status: BoardStatus.optional() }),
    returns: z.object({ boards: z.array(BoardSummary), nextCursor: z.string().nullable() }),
    summary: 'List the boards of the tenant, newest first',
    spec: '2.12',
  }),
  createBoard: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: base,
    auth: manage,
    body: z.strictObject(fields),
    bodyLimit,
    returns: Board,
    status: 201,
    problems: ['CONFLICT', 'PAYLOAD_TOO_LARGE'],
    summary: 'Create a board as a draft; it may have faults until it is published',
    spec: '2.12',
  }),
  showBoard: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: manage,
    params: one,
    returns: Board,
    summary: 'Show the last saved version of a board',
  }),
  saveBoard: endpoint({
    method: 'PUT',
    audit: { none: 'own data of users; their events record it' },
    path: `${base}/:id`,
    auth: manage,
    params: one,
    body: z.strictObject({ ...fields, version: z.int().min(1).meta({ description: 'The version that you changed; an older one is 409' }) }),
    bodyLimit,
    returns: Board,
    problems: ['CONFLICT', 'PAYLOAD_TOO_LARGE'],
    summary: 'Save a board as its next version; runs keep the version they started with',
    spec: '3.8',
  }),
  deleteBoard: endpoint({
    method: 'DELETE',
    audit: { none: 'own data of users; their events record it' },
    path: `${base}/:id`,
    auth: manage,
    params: one,
    returns: empty,
    problems: ['INVALID_TRANSITION'],
    summary: 'Delete a board that was never published',
  }),
  checkBoard: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: `${base}/:id/check`,
    auth: manage,
    cost: 'simulation',
    params: one,
    returns: z.object({ name: z.string(), version: z.int(), findings: z.array(BoardFinding) }),
    summary: 'Check the last saved version for dead ends and unknown names',
  }),
  publishBoard: endpoint({
    method: 'POST',
    audit: 'board.published',
    path: `${base}/:id/publish`,
    auth: manage,
    cost: 'simulation',
    params: one,
    returns: Board,
    problems: ['BOARD_INVALID', 'CONFLICT'],
    summary: 'Make the last saved version the one that new runs begin with',
    spec: '3.8',
  }),
  archiveBoard: endpoint({
    method: 'POST',
    audit: 'board.archived',
    path: `${base}/:id/archive`,
    auth: manage,
    params: one,
    returns: Board,
    problems: ['INVALID_TRANSITION'],
    summary: 'Archive a board: no new runs; unfinished ones continue',
    spec: '3.8',
  }),
  listBoardVersions: endpoint({
    method: 'GET',
    path: `${base}/:id/versions`,
    auth: manage,
    params: one,
    query: Paging,
    returns: z.object({
      versions: z.array(z.object({ version: z.int(), savedBy: z.string().nullable(), savedAt: Timestamp })),
      nextCursor: z.string().nullable(),
    }),
    summary: 'List the saved versions of a board, newest first',
  }),
  showBoardVersion: endpoint({
    method: 'GET',
    path: `${base}/:id/versions/:version`,
    auth: manage,
    params: one.extend({ version: Version }),
    returns: z.object({ version: z.int(), definition: BoardDefinition, savedBy: z.string().nullable(), savedAt: Timestamp }),
    summary: 'Show one version of a board',
  }),
} as const satisfies Contract
