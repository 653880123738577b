import { z } from 'zod'
import { AlertKind, AlertSeverity, ChannelName, isQuietHours } from '../../core/alerts/index.ts'
import { isTimeOfDay } from '../../core/wall-clock/index.ts'
import { WebhookUrl } from './outbound.ts'

/** A secret of one line; it is sent in a header. */
const OneLine = z.string().regex(/^[!-~]{1,1000}$/, 'must be one line of letters, digits and signs')
const File = z.string().min(1)

/** Exactly one of a secret and its file, or at most one. */
const oneOf =
  (key: string, isRequired = true) =>
  (entry: Record<string, unknown>, { addIssue }: { addIssue(issue: { code: 'custom'; path: string[]; message: string }): void }) => {
    const count = [key, `${key}File`].filter((one) => entry[one] !== undefined).length
    if (count > 1 || (isRequired && count === 0))
      addIssue({ code: 'custom', path: [key], message: `must be given either here or in ${key}File, which names a file with it` })
  }

const name = ChannelName
const token = { token: OneLine.optional(), tokenFile: File.optional() }

const Channel = z.discriminatedUnion(
  'form',
  [
    z
      .strictObject({
        name,
        form: z.literal('matrix'),
        url: WebhookUrl,
        room: z.string().regex(/^![!-~]{1,254}$/, 'must be the id of a room, such as !abc:chat.school.example'),
        ...token,
      })
      .superRefine(oneOf('token')),
    z.strictObject({ name, form: z.literal('slack'), url: WebhookUrl.optional(), urlFile: File.optional() }).superRefine(oneOf('url')),
    z
      .strictObject({
        name,
        form: z.literal('ntfy'),
        url: WebhookUrl.refine(hasTopic, 'must end with a topic, such as https://ntfy.school.example/alerts'),
        ...token,
      })
      .superRefine(oneOf('token', false)),
    z
      .strictObject({
        name,
        form: z.literal('pagerduty'),
        url: WebhookUrl.default('https://events.pagerduty.com/v2/enqueue'),
        routingKey: OneLine.optional(),
        routingKeyFile: File.optional(),
      })
      .superRefine(oneOf('routingKey')),
  ],
  { error: 'must have a form: matrix, slack, ntfy or pagerduty' },
)
export type ChannelSettings = z.output<typeof Channel>

function hasTopic(text: string): boolean {
  return URL.canParse(text) && /\/[A-Za-z0-9_-]{1,64}$/.test(new URL(text).pathname)
}

/** The variable has the text of the file as JSON. */
const fromJson = (value: unknown, { addIssue }: { addIssue(issue: { code: 'custom'; message: string }): void }) => {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    addIssue({
      code: 'custom',
      message: 'must be JSON in a variable, such as [{"name":"ops","form":"slack","urlFile":"/run/secrets/slack"}]',
    })
    return z.NEVER
  }
}

export const AlertChannels = z.preprocess(fromJson, z.array(Channel).max(20)).default([])

const Rules = z.strictObject({
  minSeverity: AlertSeverity.default('info'),
  kinds: z.array(z.enum(AlertKind.options, 'must be a kind of alert, such as box_down: docs/alert-kinds.md lists them')).min(1).optional(),
  quietHours: z.string().refine(isQuietHours, 'must be two times of day, such as 22:00-07:00').optional(),
  dailyAt: z.string().refine(isTimeOfDay, 'must be a time of day, such as 08:00').optional(),
})

export const AlertRules = z.preprocess(fromJson, z.record(z.string(), Rules)).default({})

type Named = Readonly<{
  mailTo: readonly string[]
  webhook?: unknown
  channels: readonly Readonly<{ name: string }>[]
  rules: Readonly<Record<string, unknown>>
}>
type Context = Readonly<{ addIssue(issue: { code: 'custom'; path: (string | number)[]; message: string }): void }>

/** Names are unique, and rules are of channels that exist. */
export function checkChannelNames({ mailTo, webhook, channels, rules }: Named, { addIssue }: Context): void {
  const reserved = ['mail', 'webhook']
  channels.forEach(({ name }, at) => {
    const isTaken = reserved.includes(name) || channels.findIndex((one) => one.name === name) !== at
    if (isTaken) addIssue({ code: 'custom', path: ['channels', at, 'name'], message: `is the name of another channel. fix: rename it` })
  })
  const names = [...(mailTo.length > 0 ? ['mail'] : []), ...(webhook ? ['webhook'] : []), ...channels.map(({ name }) => name)]
  for (const name of Object.keys(rules))
    if (!names.includes(name)) {
      const message = `no channel has this name (${names.join(', ') || 'none is configured'}). fix: correct or remove it`
      addIssue({ code: 'custom', path: ['rules', name], message })
    }
}

/** A channel as it may be shown: without secrets, and of an address only the origin where its path may be one. */
export function redactedChannel(channel: ChannelSettings, hidden: string): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...channel }
  for (const key of ['token', 'routingKey']) if (shown[key] !== undefined) shown[key] = hidden
  if (channel.url !== undefined) shown.url = `${new URL(channel.url).origin}/…`
  return shown
}
