import { plural } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'
import { said } from './rollout-texts.ts'

// Alerts about users of tenants whose chat account is not what the platform says.

type Refused = Readonly<{
  slug: string
  localpart: string
  status: 'active' | 'disabled'
  what: 'lock' | 'name' | 'account'
  /** As the chat server says it. */
  reason: string
}>

const consequences = {
  name: 'In the chat the user goes by another name than on the platform.',
  account: 'The user is in the registry and has no chat account, so it cannot log in.',
}

const lockConsequence = (status: Refused['status']): string =>
  status === 'disabled'
    ? 'The user is disabled and its platform sessions have ended, but devices that are logged in to the chat may go on chatting.'
    : 'The user is enabled, but the chat may still keep it out.'

const verbOf = (what: Refused['what'], status: Refused['status']): string => {
  if (what === 'account') return 'reset-password'
  if (what === 'name') return 'show'
  return status === 'disabled' ? 'disable' : 'enable'
}

/** Tried again by itself for a while; what a server refuses once it mostly refuses again. */
export const chatRefused = ({ slug, localpart, status, what, reason }: Refused): NewAlert => ({
  kind: 'chat_refused',
  key: `chat_refused:${slug}/${localpart}:${what}`,
  subject: `${slug}/${localpart}`,
  severity: 'warning',
  title: `The chat of ${slug} does not take the ${what} of ${localpart}`,
  body:
    `${what === 'lock' ? lockConsequence(status) : consequences[what]} The reason: ${said(reason)}.\n` +
    `Nobody else is touched by it. Mend the cause; ${what === 'name' ? 'it is then said again by itself.' : 'the line below then has it said again.'}`,
  command: `tenantry users ${verbOf(what, status)} ${slug} ${localpart}${what === 'lock' && status === 'disabled' ? ' --reason again' : ''}`,
})

/** Those whom a restored chat server did not know any more. */
export const accountsRemade = ({ slug, count }: Readonly<{ slug: string; count: number }>): NewAlert => ({
  kind: 'accounts_remade',
  key: `accounts_remade:${slug}`,
  subject: slug,
  severity: 'warning',
  title: `${plural(count, 'user')} of ${slug} cannot log in after a restore`,
  body:
    'The snapshot is older than their accounts, so the chat server did not know them any more. Their accounts were made again under the same ' +
    'names, with passwords that nobody knows; what they wrote since the snapshot is gone. Roles and spaces are as before.\n' +
    'The line below lists them; `tenantry users reset-password` gives each a new password. Others of the tenant have the password of the ' +
    'day of the snapshot.',
  command: `tenantry users list ${slug} --without-password`,
})

/** Those whose newest password a restored chat server does not know. */
export const passwordsOld = ({ slug, count }: Readonly<{ slug: string; count: number }>): NewAlert => ({
  kind: 'passwords_old',
  key: `passwords_old:${slug}`,
  subject: slug,
  severity: 'warning',
  title: `${plural(count, 'user')} of ${slug} ${count === 1 ? 'has' : 'have'} an older password again after a restore`,
  body:
    'They were given new passwords after the snapshot was taken; the chat server knows those of before. Whoever knows such a one can log in ' +
    'with it again.\n' +
    'The line below lists them; `tenantry users reset-password` gives each a new password, or they change it themselves.',
  command: `tenantry users list ${slug} --old-password`,
})
