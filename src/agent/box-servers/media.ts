import type { ProbeAccount } from '../ports/index.ts'
import { type Answer, ask, type Origin } from './ask.ts'

const query = ({ userId }: ProbeAccount) => `user_id=${encodeURIComponent(userId)}`

/**
 * Uploads a few bytes as media of the chat server and reads them back: a media folder that takes no file shows nowhere else. Whoever does
 * not answer at all is told by the other components.
 */
export async function keepMedia(chat: Origin, account: ProbeAccount, signal?: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${account.accessToken}` }
  const uploaded = await ask(chat, `/_matrix/media/v3/upload?filename=probe&${query(account)}`, {
    method: 'POST',
    body: { probe: true },
    headers,
    signal,
  }).catch(() => undefined)
  if (!uploaded) return
  const [, place] =
    /^mxc:\/\/([^/]+\/[A-Za-z0-9_-]+)$/.exec(String((uploaded.json as { content_uri?: unknown } | undefined)?.content_uri ?? '')) ?? []
  if (uploaded.status !== 200 || place === undefined) throw new Error(`the media upload answered ${said(uploaded)}`)
  const read = (path: string) => ask(chat, `${path}/${place}?${query(account)}`, { headers, signal })
  const present = await read('/_matrix/client/v1/media/download')
  // Synapse has that path since 1.111.
  const answer = present.status === 404 ? await read('/_matrix/media/v3/download') : present
  if (answer.status !== 200) throw new Error(`the media download answered ${said(answer)}`)
}

const said = ({ status, json }: Answer): string => {
  const { errcode } = Object(json) as { errcode?: unknown }
  return typeof errcode === 'string' ? `${status} ${errcode.slice(0, 60)}` : String(status)
}
