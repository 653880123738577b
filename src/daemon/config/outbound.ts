import { z } from 'zod'
import { forbiddenPort, isLoopback, wrongCollector } from '../../core/kit/index.ts'

// Settings of what the daemon itself writes to: other people's servers.

/** The reason why an address is refused; undefined for a valid one. */
export function wrongWebhook(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be an https: address'
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url))) return 'must begin with https:, unless it is on loopback'
  if (url.username + url.password !== '') return 'must not contain a user name; a secret goes into its path'
  return forbiddenPort(url)
}

/** Encrypted unless it is this machine. */
export const WebhookUrl = z.string().superRefine((text, { addIssue }) => {
  const message = wrongWebhook(text)
  if (message) addIssue({ code: 'custom', message })
})

export const Collector = z.string().superRefine((text, { addIssue }) => {
  const message = wrongCollector(text)
  if (message) addIssue({ code: 'custom', message })
})

/** As Standard Webhooks has them. */
export const WebhookSecret = z.string().refine((text) => {
  const [, key] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(text) ?? []
  const bytes = key === undefined ? 0 : Buffer.from(key, 'base64').length
  return bytes >= 24 && bytes <= 64
}, 'must be whsec_ and 24 to 64 bytes in base64: `echo whsec_$(openssl rand -base64 32)` creates one')

export const MailServer = z.url({ protocol: /^smtps?$/, error: 'must be smtps://user:password@host:port' })

export const MailSender = z
  .string()
  .regex(/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, 'must be a mail address such as Tenantry <tenantry@school.example>')

/** Encrypted where there is a token, unless it is this machine. */
export const Prometheus = z
  .strictObject({
    /** Its address up to `/api/v1`. */
    url: z.url({ protocol: /^https?$/ }).optional(),
    /** A file with its bearer token. */
    tokenFile: z.string().min(1).optional(),
  })
  .superRefine(({ url, tokenFile }, { addIssue }) => {
    if (url === undefined) return
    const address = new URL(url)
    const { protocol, username, password, search } = address
    const wrong = (message: string) => addIssue({ code: 'custom', path: ['url'], message })
    if (username + password + search !== '') wrong('must contain neither a user name nor a query; a token goes into prometheus.tokenFile')
    if (tokenFile && protocol === 'http:' && !isLoopback(address))
      wrong('must begin with https: where a token is sent, unless it is on loopback')
    const never = forbiddenPort(address)
    if (never) wrong(never)
  })
