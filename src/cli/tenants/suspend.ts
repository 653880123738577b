import { assertConfirmed, command, required, text } from '../kit/index.ts'
import { tenantView } from './tenants.view.ts'

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
