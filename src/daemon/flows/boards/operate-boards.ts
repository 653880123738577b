import {
  type BoardStructure,
  type BoardSummary,
  bundleOf,
  type FlowBundle,
  type OperatorBoard,
  type SimulationScript,
  simulateInSteps,
} from '../../../core/boards/index.ts'
import { type AdminActor, isoNow, problem, type TokenActor } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { withSpaceNames } from '../../spaces/index.ts'
import { useSupportAccess } from '../../support/index.ts'
import { tenantBySlug } from '../../tenants/index.ts'
import { inSlices } from './board-work.ts'
import type { BoardsDeps } from './deps.ts'
import { checkBoard } from './publish-board.ts'
import { storeBoard } from './save-board.ts'
import { listBoards, showBoard, showVersion } from './show-boards.ts'
import { draftOf, type Import } from './transfer-board.ts'

// Boards of a tenant for operators: structure and findings. The content needs the support access of the tenant.

type Operator = AdminActor | TokenActor
type Named = Readonly<{ slug: string; id: string }>
type Page = Readonly<{ slug: string; cursor?: string | undefined; limit: number; status?: BoardSummary['status'] | undefined }>

async function tenantNamed(db: DbOrTx, slug: string): Promise<Readonly<{ id: string; tenantId: string; userId: null; slug: string }>> {
  const tenant = await tenantBySlug(db, slug)
  if (!tenant) throw problem('NOT_FOUND', `Tenant ${slug} does not exist. fix: tenantry tenants list`)
  return { id: tenant.id, tenantId: tenant.id, userId: null, slug }
}

/** Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function listTenantBoards(deps: BoardsDeps, { slug, ...page }: Page) {
  const tenant = await tenantNamed(deps.db, slug)
  const { boards, nextCursor } = await listBoards(deps, tenant, page)
  return { boards: await withSpaceNames(deps.db, { ...tenant, rows: boards }), nextCursor }
}

/** The structure of a version; default: the last saved one. Throws NOT_FOUND. */
export async function showTenantBoard(
  deps: BoardsDeps,
  { slug, id, version }: Named & Readonly<{ version?: number | undefined }>,
): Promise<BoardStructure> {
  const tenant = await tenantNamed(deps.db, slug)
  const { definition: last, ...summary } = await showBoard(deps, tenant, { id })
  const definition = version === undefined ? last : (await showVersion(deps, tenant, { id, version })).definition
  const [named] = await withSpaceNames(deps.db, { ...tenant, rows: [summary] })
  return {
    ...(named as OperatorBoard),
    columns: definition.columns,
    elements: definition.elements.map(({ id: own, kind, label, columnId }) => ({ id: own, kind, label, columnId })),
    edges: definition.edges.map(({ source, target, condition }) => ({ source, target, condition: condition.type })),
  }
}

/** Messages quote roles, texts and conditions, which are content. Throws NOT_FOUND. */
export async function checkTenantBoard(deps: BoardsDeps, { slug, id }: Named) {
  const { name, version, findings } = await checkBoard(deps, await tenantNamed(deps.db, slug), { id })
  return { name, version, findings: findings.map((finding) => ({ ...finding, message: withoutContent })) }
}

const withoutContent = 'The reason quotes the board; users with manageBoards read it.'

/** Creates a draft without an author. Throws NOT_FOUND, VALIDATION, CONFLICT. */
export async function importTenantBoard(
  deps: BoardsDeps,
  actor: Operator,
  { slug, ...input }: Import & Readonly<{ slug: string }>,
): Promise<BoardSummary> {
  const tenant = await tenantNamed(deps.db, slug)
  const draft = await draftOf(deps, tenant, input)
  return deps.db.transaction().execute(async (tx) => {
    const { definition: _, ...board } = await storeBoard(deps, tx, { tenantId: tenant.id, by: null, input: draft })
    await recordAudit(tx, deps.clock, { actor, action: 'board.imported', subject: slug, data: { boardId: board.id } })
    return board
  })
}

/** Throws NOT_FOUND, FORBIDDEN (no support access), BOARD_INVALID. */
export const exportTenantBoard = async (deps: BoardsDeps, actor: Operator, named: Named): Promise<FlowBundle> =>
  bundleOf(await contentFor(deps, actor, { ...named, use: 'export' }))

/** Throws NOT_FOUND, FORBIDDEN (no support access), BOARD_INVALID, VALIDATION. */
export async function simulateTenantBoard(
  deps: BoardsDeps,
  actor: Operator,
  { script, ...named }: Named & Readonly<{ script: SimulationScript }>,
) {
  const { definition } = await contentFor(deps, actor, { ...named, use: 'simulate' })
  return inSlices(deps, simulateInSteps(definition, script, isoNow(deps.clock)))
}

async function contentFor({ db, clock }: BoardsDeps, actor: Operator, { slug, id, use }: Named & Readonly<{ use: string }>) {
  const tenant = await tenantNamed(db, slug)
  const board = await showBoard({ db }, tenant, { id })
  await db.transaction().execute((tx) => useSupportAccess(tx, clock, { actor, tenant, data: { use, boardId: id } }))
  return board
}
