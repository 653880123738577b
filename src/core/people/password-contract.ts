import { z } from 'zod'
import { type Contract, empty, endpoint, open, raw, text } from '../contract/index.ts'
import { NewPassword } from '../users/index.ts'

const base = '/api/auth/v1/password'
/** Browsers open it, so its problems are pages too. */
const page = '/api/public/password'

/** Two passwords and a name. */
export const maxFormBytes = 8192

const Token = z.string().min(1).max(200).meta({ description: 'The token of the link' })
/** A class opens its links at once, from one address. A token cannot be guessed, but what a stranger asks for is mailed to others. */
const perAddress = { link: 10, mail: 1 }

/** Passwords without a login: by the link of a mail. */
export const passwordContract = {
  forgotPassword: endpoint({
    method: 'POST',
    audit: { none: 'nothing changes until the link is used' },
    path: `${base}/forgot`,
    auth: open,
    perAddress: perAddress.mail,
    body: z.strictObject({
      tenant: z.string().min(1).max(255).meta({ description: 'Slug or chat domain' }),
      username: z.string().min(1).max(255).meta({ description: 'Localpart of the chat id, without @' }),
    }),
    returns: empty,
    status: 202,
    problems: ['CONFIG'],
    summary: 'Mail a user a link that sets a new password, for 30 minutes; the answer is the same for unknown users',
  }),
  resetForgottenPassword: endpoint({
    method: 'POST',
    audit: 'user.password-reset',
    path: `${base}/reset`,
    auth: open,
    perAddress: perAddress.link,
    body: z.strictObject({
      token: Token,
      newPassword: NewPassword,
      logOutDevices: z.boolean().default(false).meta({ description: 'Also end the chat sessions of all devices' }),
    }),
    returns: empty,
    problems: ['LINK_INVALID', 'CONFLICT', 'HOMESERVER_UNREACHABLE'],
    summary: 'Set a password with the link of a mail, once, and end all sessions',
  }),
  showPasswordPage: endpoint({
    method: 'GET',
    path: page,
    auth: open,
    perAddress: perAddress.link,
    query: z.object({ token: Token }),
    returns: text('text/html; charset=utf-8'),
    problems: ['LINK_INVALID'],
    summary: 'The page behind the link of a mail; it changes nothing',
  }),
  sendPasswordPage: endpoint({
    method: 'POST',
    audit: 'user.password-reset',
    path: page,
    auth: open,
    cost: 'write',
    perAddress: perAddress.link,
    query: z.object({ token: Token }),
    bodyLimit: maxFormBytes,
    returns: raw,
    problems: ['LINK_INVALID', 'HOMESERVER_UNREACHABLE'],
    summary: 'Set the password that was entered on that page',
  }),
} as const satisfies Contract
