import type { AutomationKey } from '../../core/automation/index.ts'
import { problem } from '../../core/kit/index.ts'
import { ago, type Column, type Context, command, count, fields, many, type Style, sections, stamp, table } from '../kit/index.ts'

type Input = Readonly<{ name?: string; tenant: readonly string[]; days: number | undefined }>
type KeysResult = Readonly<{ keys: readonly AutomationKey[] }> | (AutomationKey & Readonly<{ key: string }>) | Readonly<{ revoked: string }>

export const keys = command('keys <list|create|revoke> [name]', 'Manage keys of automation tools', {
  options: {
    tenant: many('--tenant <slug>', 'tenant that the key acts for (repeatable)'),
    days: count('--days <days>', 'validity in days (default: until revoked)'),
  },
  run: async (context, { 'list|create|revoke': action, ...input }): Promise<KeysResult> => {
    if (action === 'list') return context.api.automation.listAutomationKeys()
    if (action === 'create') return create(context, input)
    if (action === 'revoke') return revoke(context, input)
    throw problem('USAGE', `unknown action ${action}; use list, create or revoke`)
  },
  view: keysView,
  examples: ['keys list', 'keys create n8n --tenant linden --days 365', 'keys revoke n8n'],
})

function create({ api }: Context, { name, tenant, days }: Input) {
  if (!name) throw problem('USAGE', 'name missing; pass one such as n8n')
  if (tenant.length === 0) throw problem('USAGE', 'pass --tenant <slug>, once for each tenant')
  return api.automation.createAutomationKey({ body: { name, tenants: [...tenant], ...(days ? { days } : {}) } })
}

async function revoke({ api }: Context, { name }: Input) {
  const { keys: all } = await api.automation.listAutomationKeys()
  const found = all.find((key) => key.name === name || key.id === name)
  if (!found) throw problem('NOT_FOUND', `Automation key ${name ?? ''} does not exist. fix: \`tenantry automation keys list\` lists keys`)
  await api.automation.revokeAutomationKey({ params: { id: found.id } })
  return { revoked: found.name }
}

const columns = ({ now }: Style): Column<AutomationKey>[] => [
  { title: 'KEY', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'TENANTS', value: ({ tenants }) => tenants.join(', '), priority: 1, minWidth: 10 },
  { title: 'PREFIX', value: ({ prefix }) => `${prefix}…`, priority: 3 },
  { title: 'LAST USED', value: ({ lastUsedAt }) => ago(lastUsedAt, now), priority: 2 },
  { title: 'EXPIRES', value: ({ expiresAt }) => (expiresAt === null ? 'never' : ago(expiresAt, now)), priority: 1 },
  { title: 'CREATED BY', value: ({ createdBy }) => createdBy, priority: 3, minWidth: 8 },
  { title: 'ID', value: ({ id }) => id, priority: 5 },
]

function keysView(result: KeysResult, style: Style): string {
  if ('revoked' in result) return `${style.paint.green('Revoked')} ${result.revoked}.`
  if ('key' in result) return newKeyView(result, style)
  if (result.keys.length === 0) return 'No automation keys. Create one: tenantry automation keys create <name> --tenant <slug>'
  return table(style, columns(style), result.keys)
}

const newKeyView = ({ name, tenants, key, expiresAt }: AutomationKey & Readonly<{ key: string }>, style: Style): string =>
  sections(
    fields(style, [
      ['key', style.paint.bold(key)],
      ['name', name],
      ['tenants', tenants.join(', ')],
      ['expires', expiresAt === null ? 'never' : stamp(expiresAt, style.now)],
    ]),
    'Save it now, it is not shown again. The tool sends it as the header X-Automation-Key.',
  )
