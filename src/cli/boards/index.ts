// `tenantry boards`: list, show, check, export, import and simulate flow boards, of a tenant or in a file.
// Operators see structure and findings. The content of a board needs the support access of its tenant.
import type { BoardBindings } from '../../core/boards/index.ts'
import { catalogue, problem } from '../../core/kit/index.ts'
import { assertFolderOf, type Context, clean, command, count, many, namedAsOptions, noun, oneOf, required, text } from '../kit/index.ts'
import { boardList, boardView, type Checked, findingsView, hasErrors, importedView, simulationView } from './boards.view.ts'
import { readBoardFile, readBundleFile, readScript } from './read-board.ts'

export { fieldColumns } from './field-columns.ts'

const tenantOption = text('--tenant <slug>', 'tenant of the board')
const inTenant = required(tenantOption)
const orFile = text('--tenant <slug>', 'tenant of the board; without it <board> is a file')

const list = command('list', 'List the flow boards of a tenant', {
  options: {
    tenant: inTenant,
    status: oneOf('--status <status>', 'filter by status', ['draft', 'active', 'archived']),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, { tenant, ...query }) => api.boards.listTenantBoards({ params: { slug: tenant }, query }),
  view: boardList,
})

const show = command('show <board>', 'Show the structure of a board', {
  options: { tenant: inTenant },
  run: ({ api }, { board, tenant }) => api.boards.showTenantBoard({ params: { slug: tenant, id: board } }),
  view: boardView,
})

const check = command('check <board>', 'Check a board for dead ends and unknown names', {
  options: { tenant: orFile },
  run: async ({ api, clock }, { board, tenant }): Promise<Checked> => {
    if (tenant === undefined) return checkFile(board, clock.now())
    const { name, findings } = await api.boards.checkTenantBoard({ params: { slug: tenant, id: board } })
    return { name, findings, isLocal: false }
  },
  view: findingsView,
  exit: (result) => (hasErrors(result) ? catalogue.BOARD_INVALID.exit : 0),
  examples: ['check crisis.json', 'check brd_2x7e --tenant anna-schule'],
})

/** Checks a file without a daemon; roles and rooms are those of a tenant, so they count as existing. */
async function checkFile(file: string, now: Date): Promise<Checked> {
  const { name, definition } = await readBoardFile(file)
  const { checkBoard } = await import('../../core/boards/index.ts')
  const findings = checkBoard(definition, { roles: new Set(), rooms: new Set(), now }, { isTemplate: true })
  return { name, findings: findings.filter(({ code }) => !['ROLE_UNKNOWN', 'ROOM_UNKNOWN'].includes(code)), isLocal: true }
}

const exportBoard = command('export <board>', 'Export a board as a bundle (needs support access)', {
  options: { tenant: inTenant, out: text('--out <file>', 'write the bundle to this file (default: stdout)') },
  run: async ({ api }, { board, tenant, out }) => {
    if (out !== undefined) await assertFolderOf(out)
    const bundle = await api.boards.exportTenantBoard({ params: { slug: tenant, id: board } })
    if (out !== undefined)
      await (await import('../../node/index.ts')).writeFileAtomic(out, `${JSON.stringify(bundle, null, 2)}\n`, { mode: 0o600 })
    return bundle
  },
  view: (bundle, _, { out }) => (out === undefined ? JSON.stringify(bundle, null, 2) : `Bundle written to ${clean(out)}.`),
  examples: ['export brd_2x7e --tenant anna-schule --out crisis.json'],
})

const optionNames = { name: '--name', 'bindings.roles.': '--role ', 'bindings.rooms.': '--room ' }

const importBoard = command('import <file>', 'Import a bundle as a draft', {
  options: {
    tenant: inTenant,
    name: text('--name <name>', 'name of the board (default: the name in the bundle)'),
    roles: many('--role <bindings>', 'roles for parameters: head=teacher'),
    rooms: many('--room <bindings>', 'rooms for parameters: staff=!id:server'),
  },
  run: async ({ api }, { file, tenant, name, roles, rooms }) => {
    const bundle = (await readBundleFile(file)) as never
    const bindings: BoardBindings = { roles: pairs('--role', roles), rooms: pairs('--room', rooms) }
    const body = { bundle, bindings, ...(name === undefined ? {} : { name }) }
    return namedAsOptions(optionNames, () => api.boards.importTenantBoard({ params: { slug: tenant }, body }))
  },
  view: importedView,
  examples: ['import crisis.json --tenant anna-schule --role head=teacher'],
})

/** Throws USAGE. */
const pairs = (option: string, all: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    all.map((one) => {
      const at = one.indexOf('=')
      if (at < 1) throw problem('USAGE', `${option} ${one} has no name. fix: write ${option} <parameter>=<value>`)
      return [one.slice(0, at), one.slice(at + 1)]
    }),
  )

const simulate = command('simulate <board>', 'Play a board with scripted answers; stores nothing', {
  options: { tenant: orFile, script: text('--script <file>', 'answers and variables, JSON or YAML (default: no answers)') },
  run: async ({ api, clock }: Context, { board, tenant, script: file }) => {
    const script = await readScript(file)
    if (tenant !== undefined) return api.boards.simulateTenantBoard({ params: { slug: tenant, id: board }, body: script })
    const { simulateBoard } = await import('../../core/boards/index.ts')
    return simulateBoard((await readBoardFile(board)).definition, script, clock.now().toISOString())
  },
  view: simulationView,
  exit: ({ outcome }) => (outcome === 'completed' ? 0 : 1),
  examples: ['simulate crisis.json --script answers.yaml', 'simulate brd_2x7e --tenant anna-schule --script answers.yaml'],
})

export const boards = noun('boards', 'Manage flow boards of tenants', [list, show, check, exportBoard, importBoard, simulate])
