import { problem } from '../../core/kit/index.ts'
import { command, many, oneOf, text } from '../kit/index.ts'
import { tenantView } from './tenants.view.ts'

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
