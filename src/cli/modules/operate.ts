import { plural, problem } from '../../core/kit/index.ts'
import type { Service } from '../../core/module-services/index.ts'
import type { ModuleHealth, ModuleHealthDetail, OperatedModule } from '../../core/modules/index.ts'
import {
  ago,
  assertConfirmedOf,
  type Column,
  type Context,
  clean,
  command,
  count,
  fields,
  flag,
  required,
  type Style,
  sections,
  stamp,
  table,
  text,
} from '../kit/index.ts'

const tintOf = ({ status, withdrawn }: OperatedModule) => (status === 'withdrawn' ? 'red' : withdrawn.length > 0 ? 'yellow' : 'green')

const priceText = ({ price }: Pick<OperatedModule, 'price'>) =>
  price ? `${(price.cents / 100).toFixed(2)} ${price.currency.toUpperCase()} a month` : 'free'

const columns: Column<OperatedModule>[] = [
  { title: 'MODULE', value: ({ moduleId }) => moduleId, priority: 1 },
  { title: 'VERSION', value: ({ version }) => version, priority: 1 },
  { title: 'TYPE', value: ({ type }) => type, priority: 3 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: tintOf },
  { title: 'PRICE', value: priceText, priority: 2, align: 'right' },
  { title: 'INSTALLED', value: ({ installations }) => installations, priority: 2, align: 'right' },
  { title: 'ACTIVE', value: ({ activeInstallations }) => activeInstallations, priority: 2, align: 'right' },
  { title: 'NAME', value: ({ name }) => name, priority: 3 },
]

const list = command('list', 'List approved modules and their installations', {
  run: ({ api }) => api.modules.listModules(),
  view: ({ modules }, style) => (modules.length === 0 ? 'No modules.' : table(style, columns, modules)),
  examples: ['list'],
})

const show = command('show <module>', 'Show a module, its health and withdrawn versions', {
  run: async ({ api }, { module: moduleId }) => {
    const health = await api.modules.showModuleHealth({ params: { moduleId } })
    const found = (await api.modules.listModules()).modules.find((one) => one.moduleId === moduleId)
    return { ...health, ...(found ?? { status: 'active' as const, price: null, installations: 0, withdrawn: [] }) }
  },
  view: (shown, style) =>
    sections(
      `${style.paint.bold(shown.moduleId)} ${shown.version}`,
      fields(style, [
        ['name', clean(shown.name)],
        ['status', shown.status],
        ['price', priceText(shown)],
        ['installed', shown.installations],
        ['active', shown.activeInstallations],
        ...performanceOf(shown),
      ]),
      shown.history.some(({ runs }) => runs > 0) ? table(style, historyColumns, shown.history) : '',
      shown.withdrawn.length > 0 ? table(style, withdrawnColumns(style), shown.withdrawn) : '',
    ),
  examples: ['show attendance'],
})

type HealthPoint = ModuleHealthDetail['history'][number]
const historyColumns: Column<HealthPoint>[] = [
  { title: 'FROM', value: ({ from }) => `${from.slice(11, 16)} UTC`, priority: 1 },
  { title: 'RUNS', value: ({ runs }) => runs, priority: 2, align: 'right' },
  { title: 'ERRORS', value: ({ errorRate }) => percent(errorRate), priority: 1, align: 'right' },
  { title: 'P95', value: ({ p95Ms }) => `${p95Ms} ms`, priority: 1, align: 'right' },
  { title: 'P99', value: ({ p99Ms }) => `${p99Ms} ms`, priority: 1, align: 'right' },
]

type Withdrawn = OperatedModule['withdrawn'][number]
const withdrawnColumns = ({ now }: Style): Column<Withdrawn>[] => [
  { title: 'WITHDRAWN', value: ({ version }) => version, priority: 1 },
  { title: 'SINCE', value: ({ at }) => ago(at, now), priority: 2 },
  { title: 'REASON', value: ({ reason }) => clean(reason), priority: 1 },
]

const percent = (rate: number): string => `${Math.round(rate * 1000) / 10} %`
const violationsOf = ({ performance: { violations } }: ModuleHealth): string =>
  violations.map(({ kind, count: times }) => `${kind} ${times}`).join(', ') || 'none'

const performanceOf = (one: ModuleHealth): [string, string][] => [
  ['health', one.performance.healthy ? 'OK' : 'unhealthy'],
  ['errors', percent(one.performance.errorRate)],
  ['p95', `${one.performance.p95Ms} ms`],
  ['p99', `${one.performance.p99Ms} ms`],
  ['violations', violationsOf(one)],
]

const healthColumns: Column<ModuleHealth>[] = [
  { title: 'MODULE', value: ({ moduleId }) => moduleId, priority: 1 },
  { title: 'VERSION', value: ({ version }) => version, priority: 2 },
  {
    title: 'HEALTH',
    value: ({ performance: { healthy } }) => (healthy ? 'OK' : 'unhealthy'),
    priority: 1,
    paint: ({ performance: { healthy } }) => (healthy ? 'green' : 'red'),
  },
  { title: 'ACTIVE', value: ({ activeInstallations }) => activeInstallations, priority: 2, align: 'right' },
  { title: 'ERRORS', value: ({ performance: { errorRate } }) => percent(errorRate), priority: 1, align: 'right' },
  { title: 'P95', value: ({ performance: { p95Ms } }) => `${p95Ms} ms`, priority: 1, align: 'right' },
  { title: 'P99', value: ({ performance: { p99Ms } }) => `${p99Ms} ms`, priority: 3, align: 'right' },
  { title: 'VIOLATIONS', value: violationsOf, priority: 1 },
]

const health = command('health', 'Show errors, durations and violations of active modules', {
  run: ({ api }) => api.modules.listModuleHealth(),
  view: ({ modules }, style) => (modules.length === 0 ? 'No active modules.' : table(style, healthColumns, modules)),
  examples: ['health'],
})

type Entry = Readonly<{ at: string; actor: string; action: string; moduleId: string; version: string | null }>
const auditColumns = ({ now }: Style): Column<Entry>[] => [
  { title: 'AT', value: ({ at }) => stamp(at, now), priority: 1 },
  { title: 'ACTION', value: ({ action }) => action, priority: 1 },
  { title: 'MODULE', value: ({ moduleId }) => moduleId, priority: 1 },
  { title: 'VERSION', value: ({ version }) => version, priority: 2 },
  { title: 'ACTOR', value: ({ actor }) => clean(actor), priority: 2 },
]

const audit = command('audit <tenant>', 'List audit entries about the modules of a tenant', {
  options: { module: text('--module <id>', 'only entries of this module'), limit: count('--limit <count>', 'max results') },
  run: ({ api }, { tenant, module: moduleId, limit }) =>
    api.modules.listModuleAudit({ params: { tenantId: tenant }, query: { moduleId, limit } }),
  view: ({ entries }, style) => (entries.length === 0 ? 'No entries.' : table(style, auditColumns(style), entries)),
  examples: ['audit acme', 'audit acme --module attendance'],
})

const only = text('--only <version>', 'only this version (default: all)')

const withdraw = command('withdraw <module>', 'Withdraw a module; it stops everywhere within a second', {
  options: { reason: required(text('--reason <text>', 'shown to tenants that have the module')), only },
  run: async (context, { module: id, reason, only: version }) => {
    const { api } = context
    const question = `Stop ${version ? `version ${version}` : 'all versions'} of ${id} in every tenant? Its data stays.`
    await assertConfirmedOf(context, question, () => assertApproved(context, id))
    return api.modules.withdrawModule({ params: { id }, body: { reason, ...(version ? { version } : {}) } })
  },
  view: ({ moduleId, versions, chargedApps }) =>
    [
      versions.length === 0
        ? `${moduleId} was withdrawn already.`
        : `Withdrawn: ${moduleId} ${versions.join(', ')}. To run it again: tenantry modules restore ${moduleId}`,
      ...(chargedApps > 0
        ? [`Paid apps with it that charge on: ${chargedApps}. To end that, cancel their subscriptions in the Dashboard.`]
        : []),
    ].join('\n'),
  examples: ['withdraw attendance --reason "sends data to strangers"'],
})

async function assertApproved({ api }: Pick<Context, 'api'>, id: string): Promise<void> {
  const { modules } = await api.modules.listModules()
  if (!modules.some(({ moduleId }) => moduleId === id))
    throw problem('NOT_FOUND', `module ${id} is not approved. fix: list all with \`tenantry modules list\``)
}

const restore = command('restore <module>', 'Restore a withdrawn module', {
  options: { only },
  run: ({ api }, { module: id, only: version }) => api.modules.restoreModule({ params: { id }, body: version ? { version } : {} }),
  view: ({ moduleId, versions }) =>
    versions.length === 0 ? `No version of ${moduleId} is withdrawn.` : `Restored: ${moduleId} ${versions.join(', ')}`,
  examples: ['restore attendance'],
})

const upstream = command('upstream <module> [url]', 'Show or set the address of the service of a type B module', {
  options: { rotateSecret: flag('--rotate-secret', 'replace the signing secret; the former one ends at once') },
  run: async (context, { module: id, url, rotateSecret }): Promise<Upstream> => {
    const services = context.api['module-services']
    const params = { id }
    if (url === undefined && !rotateSecret) return services.showModuleUpstream({ params })
    const question = `Replace the signing secret of ${id}? Its service refuses all messages until it has the new one.`
    if (rotateSecret) await assertConfirmedOf(context, question, () => services.showModuleUpstream({ params }))
    const address = url ?? (await services.showModuleUpstream({ params })).url
    return services.setModuleUpstream({ params, body: { url: address, rotateSecret } })
  },
  view: (shown, style) =>
    sections(
      fields(style, [
        ['module', shown.moduleId],
        ['address', clean(shown.url)],
        ['failures', `${shown.failures} in a row`],
        ['waiting', plural(shown.waiting, 'installation')],
        ['no consent', plural(shown.withoutConsent, 'installation')],
      ]),
      shown.signingSecret ? `Signing secret, shown once: ${shown.signingSecret}` : '',
    ),
  examples: ['upstream attendance https://attendance.example', 'upstream attendance'],
})

type Upstream = Service & Readonly<{ signingSecret?: string | null }>

/** Verbs of operators. */
export const operatorVerbs = [list, show, health, audit, withdraw, restore, upstream]
