import { problem } from '../../core/kit/index.ts'
import { assertConfirmedOf, command, count, many, oneOf, required, text } from '../kit/index.ts'
import { tenantInFull, tenantList, tenantView } from './tenants.view.ts'

export const list = command('list', 'List tenants with their maintenance windows', {
  options: {
    plan: oneOf('--plan <plan>', 'filter by plan', ['light', 'pro', 'dedicated']),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, query) => api.tenants.listTenants({ query }),
  view: tenantList,
})

export const show = command('show <slug>', 'Show a tenant and its file storage', {
  run: ({ api }, { slug }) => api.tenants.showTenant({ params: { slug } }),
  view: tenantInFull,
})

export const create = command('create <slug>', 'Register a tenant without a box (`boxes provision` adds one)', {
  options: {
    name: required(text('--name <name>', 'display name of the organisation')),
    plan: required(oneOf('--plan <plan>', 'plan', ['light', 'pro', 'dedicated'])),
    chatDomain: required(text('--chat-domain <domain>', 'server name in chat ids; immutable')),
    schoolId: text('--school-id <id>', 'external id of the school'),
    orgId: text('--org-id <id>', 'external id of the organisation'),
  },
  run: ({ api }, body) => api.tenants.createTenant({ body }),
  view: tenantView,
  examples: ['create anna-schule --name "Anna-Schule" --plan light --chat-domain chat.anna.example'],
})

export const update = command('update <slug>', 'Update fields of a tenant', {
  options: {
    name: text('--name <name>', 'display name of the organisation'),
    plan: oneOf('--plan <plan>', 'plan; the tier of its box follows', ['light', 'pro', 'dedicated']),
    schoolId: text('--school-id <id>', 'external id of the school'),
    orgId: text('--org-id <id>', 'external id of the organisation'),
    brand: text('--brand <name>', 'name shown in clients'),
    color: text('--color <#rrggbb>', 'colour shown in clients (none removes it)'),
    flags: many('--flag <name=on>', 'feature flag: newChat=on, newChat=off or newChat=clear'),
    paymentCustomer: text('--payment-customer <id>', 'customer id at the payment provider (none removes it)'),
    billingEmail: text('--billing-email <address>', 'address for bills (none removes it)'),
  },
  run: ({ api }, { slug, brand, color, flags, paymentCustomer, billingEmail, ...input }) => {
    const known = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    const body = {
      ...known,
      ...(brand === undefined && color === undefined ? {} : { branding: brandingBody(brand, color) }),
      ...(flags.length === 0 ? {} : { featureFlags: Object.fromEntries(flags.map(readFlag)) }),
      ...(billingEmail === undefined ? {} : { billingEmail: billingEmail === 'none' ? null : billingEmail }),
      ...(paymentCustomer === undefined ? {} : { paymentCustomerId: paymentCustomer === 'none' ? null : paymentCustomer }),
    }
    if (Object.keys(body).length === 0)
      throw problem(
        'USAGE',
        `nothing to change; \`tenantry tenants update --help\` lists the fields, \`tenantry tenants window ${slug}\` sets windows`,
      )
    return api.tenants.changeTenant({ params: { slug }, body })
  },
  view: tenantView,
  examples: ['update anna-schule --plan pro', 'update anna-schule --flag newChat=on,oldChat=clear'],
})

const brandingBody = (tenantName?: string, color?: string) => ({
  ...(tenantName === undefined ? {} : { tenantName }),
  ...(color === undefined ? {} : { color: color === 'none' ? null : color }),
})

const flagValues: Readonly<Record<string, boolean | null>> = { on: true, off: false, clear: null }

function readFlag(input: string): [string, boolean | null] {
  const [name = '', word = ''] = input.split('=')
  const value = Object.hasOwn(flagValues, word) ? flagValues[word] : undefined
  if (name === '' || value === undefined) throw problem('USAGE', `invalid --flag ${input}; write newChat=on, newChat=off or newChat=clear`)
  return [name, value]
}

export const suspend = command('suspend <slug>', 'Block logins and tokens of all users of a tenant', {
  options: { reason: required(text('--reason <text>', 'reason for the audit log')) },
  run: async (context, { slug, reason }) => {
    const { tenants } = context.api
    const question = `Block all users of ${slug} from the platform? Its box and chat keep running.`
    await assertConfirmedOf(context, question, () => tenants.showTenant({ params: { slug } }))
    return tenants.suspendTenant({ params: { slug }, body: { reason } })
  },
  view: tenantView,
})

export const resume = command('resume <slug>', 'Lift a suspension; existing sessions work again', {
  options: { until: text('--until <date>', 'for a time: suspended again at the end of this day (UTC)') },
  run: ({ api }, { slug, until }) =>
    api.tenants.resumeTenant({ params: { slug }, body: until === undefined ? {} : { until: endOfTime(until) } }),
  view: tenantView,
  examples: ['resume anna-schule', 'resume anna-schule --until 2026-12-24'],
})

/** The end of a day, or a time. */
function endOfTime(text: string): string {
  const at = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59Z` : text)
  if (Number.isNaN(at.getTime())) throw problem('USAGE', `invalid --until ${text}; write a day such as 2026-12-24`)
  return at.toISOString()
}
