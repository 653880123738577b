import { readFile } from 'node:fs/promises'
import { type AlertMessage, matrixBody, ntfyBody, pagerDutyBody, slackBody } from '../../core/alerts/index.ts'
import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { type ChannelSettings, wrongWebhook } from '../config/index.ts'
import { callReceiver } from './call-receiver.ts'

type Deps = Readonly<{ clock: Clock; daemonUrl: string }>
type Message = Readonly<{ message: AlertMessage; id: string; signal?: AbortSignal | undefined }>

/** Sends a message in the form of a room or a service. Throws UNAVAILABLE. */
export async function sendToService(deps: Deps, channel: ChannelSettings, { message, id, signal }: Message): Promise<string> {
  const call = (url: string, body: unknown, more: Readonly<{ method?: 'PUT'; token?: string | undefined }> = {}) =>
    callReceiver({
      who: `the channel ${channel.name}`,
      setting: `alerts.channels (${channel.name}), url`,
      url,
      ...(more.method && { method: more.method }),
      ...(more.token !== undefined && { headers: { authorization: `Bearer ${more.token}` } }),
      body: JSON.stringify(body),
      signal,
    })
  if (channel.form === 'matrix') {
    const token = await secretOf(channel, 'token')
    // The id of the message is that of the transaction: a homeserver takes it once.
    const path = `/_matrix/client/v3/rooms/${encodeURIComponent(channel.room)}/send/m.room.message/${encodeURIComponent(id)}`
    return call(channel.url.replace(/\/$/, '') + path, matrixBody(message), { method: 'PUT', token })
  }
  if (channel.form === 'slack') return call(await secretOf(channel, 'url'), slackBody(message))
  if (channel.form === 'ntfy') {
    const token = (channel.token ?? channel.tokenFile) ? await secretOf(channel, 'token') : undefined
    const [, server = '', topic = ''] = /^(.*)\/([^/]+)$/.exec(channel.url) ?? []
    return call(`${server}/`, ntfyBody(message, topic), { token })
  }
  const context = { routingKey: await secretOf(channel, 'routingKey'), url: deps.daemonUrl }
  const said = await call(channel.url, pagerDutyBody(message, context))
  // A test leaves no open incident.
  if (message.kind === 'test') await call(channel.url, pagerDutyBody({ ...message, closedAt: isoNow(deps.clock) }, context))
  return said
}

/** A secret from the settings, or from its file as it is now: a new token needs no restart. */
async function secretOf(channel: ChannelSettings, key: 'token' | 'url' | 'routingKey'): Promise<string> {
  const { [key]: value, [`${key}File`]: file } = channel as Readonly<Record<string, string | undefined>>
  if (value !== undefined) return value
  const setting = `alerts.channels (${channel.name}), ${key}File`
  const text = (
    await readFile(file ?? '', 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw problem('UNAVAILABLE', `${setting}: ${file} cannot be read (${error.code}). fix: create it, readable by the user of the daemon`)
    })
  ).trim()
  if (!/^[!-~]{1,1000}$/.test(text)) throw problem('UNAVAILABLE', `${setting}: ${file} is empty or has more than one line. fix: correct it`)
  const wrong = key === 'url' ? wrongWebhook(text) : undefined
  if (wrong !== undefined) throw problem('UNAVAILABLE', `${setting}: the address in ${file} ${wrong}`)
  return text
}

/** Reads the files of secrets that channels name. Throws CONFIG_INVALID. */
export async function assertChannelFiles(channels: readonly ChannelSettings[]): Promise<void> {
  for (const channel of channels)
    for (const key of ['token', 'url', 'routingKey'] as const)
      if ((channel as Readonly<Record<string, unknown>>)[`${key}File`] !== undefined)
        await secretOf(channel, key).catch((error: Error) => {
          throw problem('CONFIG_INVALID', error.message)
        })
}
