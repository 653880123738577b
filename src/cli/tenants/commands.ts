import { problem } from '../../core/kit/index.ts'
import { assertConfirmed, command, count, many, oneOf, required, text } from '../kit/index.ts'
import { tenantInFull, tenantList, tenantView } from './tenants.view.ts'

export const list = command(
  'list',
  'Tenants by slug, with their maintenance windows',
  {
    plan: oneOf('--plan <plan>', 'of one plan', ['light', 'pro', 'dedicated']),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, query) => api.tenants.listTenants({ query }),
  tenantList,
)

export const show = command(
  'show <slug>',
  'One tenant, with what its files take',
  {},
  ({ api }, { slug }) => api.tenants.showTenant({ params: { slug } }),
  tenantInFull,
)

export const create = command(
  'create <slug>',
  'Register a tenant before it has a box; `boxes provision` with the same words makes the box',
  {
    name: required(text('--name <name>', 'what the organisation is called')),
    plan: required(oneOf('--plan <plan>', 'what it pays for', ['light', 'pro', 'dedicated'])),
    chatDomain: required(text('--chat-domain <domain>', 'the part of its chat ids after the colon; it never changes')),
    schoolId: text('--school-id <id>', 'as other systems know the school'),
    orgId: text('--org-id <id>', 'as other systems know its organisation'),
  },
  ({ api }, body) => api.tenants.createTenant({ body }),
  tenantView,
  { examples: ['create anna-schule --name "Anna-Schule" --plan light --chat-domain chat.anna.example'] },
)

export const update = command(
  'update <slug>',
  'Change what is known of a tenant; what is not named stays',
  {
    name: text('--name <name>', 'what the organisation is called'),
    plan: oneOf('--plan <plan>', 'what it pays for; its box changes tier with it', ['light', 'pro', 'dedicated']),
    schoolId: text('--school-id <id>', 'as other systems know the school'),
    orgId: text('--org-id <id>', 'as other systems know its organisation'),
    brand: text('--brand <name>', 'what clients show as its name'),
    flags: many('--flag <name=on>', 'a feature flag: newChat=on, newChat=off, or newChat=clear to take it out'),
    paymentCustomer: text('--payment-customer <id>', 'at the payment provider; none takes it out'),
  },
  ({ api }, { slug, brand, flags, paymentCustomer, ...given }) => {
    const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const body = {
      ...known,
      ...(brand === undefined ? {} : { branding: { tenantName: brand } }),
      ...(flags.length === 0 ? {} : { featureFlags: Object.fromEntries(flags.map(readFlag)) }),
      ...(paymentCustomer === undefined ? {} : { paymentCustomerId: paymentCustomer === 'none' ? null : paymentCustomer }),
    }
    if (Object.keys(body).length === 0)
      throw problem(
        'USAGE',
        `say what to change: \`tenantry tenants update --help\` lists it; \`tenantry tenants window ${slug}\` sets windows`,
      )
    return api.tenants.changeTenant({ params: { slug }, body })
  },
  tenantView,
  { examples: ['update anna-schule --plan pro', 'update anna-schule --flag newChat=on,oldChat=clear'] },
)

const meanings: Readonly<Record<string, boolean | null>> = { on: true, off: false, clear: null }

function readFlag(said: string): [string, boolean | null] {
  const [name = '', meaning = ''] = said.split('=')
  const value = Object.hasOwn(meanings, meaning) ? meanings[meaning] : undefined
  if (name === '' || value === undefined) throw problem('USAGE', `--flag ${said}: write newChat=on, newChat=off or newChat=clear`)
  return [name, value]
}

export const suspend = command(
  'suspend <slug>',
  'Refuse logins and tokens of all its users within a second; its box and its chat run on',
  { reason: required(text('--reason <text>', 'why; it stands in the audit log')) },
  async ({ api, ask }, { slug, reason }) => {
    await assertConfirmed(ask, `Shut all users of ${slug} out of the platform?`)
    return api.tenants.suspendTenant({ params: { slug }, body: { reason } })
  },
  tenantView,
)

export const resume = command(
  'resume <slug>',
  'Let the users of a suspended tenant in again, with the sessions that they had',
  {},
  ({ api }, { slug }) => api.tenants.resumeTenant({ params: { slug } }),
  tenantView,
)
