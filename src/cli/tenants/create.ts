import { command, oneOf, required, text } from '../kit/index.ts'
import { tenantView } from './tenants.view.ts'

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
