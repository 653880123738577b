import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import {
  type ChatSession,
  createRoom,
  downloadMedia,
  joinRoom,
  readMessages,
  registerUser,
  sendMessage,
  uploadMedia,
} from '../../testbed/matrix-client.ts'

/** Where a provisioned box is and what opens it, read from its own folder. */
export type ReachableBox = Readonly<{
  slug: string
  folder: string
  publicUrl: string
  platformUrl: string
  edgeSecret: string
  sharedSecret: string
}>

export function reachableBox(slug: string, folder: string, ports: { public: number; platform: number }): ReachableBox {
  const found = (file: string, form: RegExp) => form.exec(readFileSync(join(folder, file), 'utf8'))?.[1] as string
  return {
    slug,
    folder,
    publicUrl: `http://127.0.0.1:${ports.public}`,
    platformUrl: `http://127.0.0.1:${ports.platform}`,
    edgeSecret: found('edge/conf.d/box.conf', /"([A-Za-z0-9_-]{20,})"/),
    sharedSecret: found('synapse/homeserver.yaml', /registration_shared_secret:\s*["']?([^"'\n]+)/),
  }
}

/** Two people of a school who talk and share a picture; what they said must survive everything. */
export type Conversation = Readonly<{
  anna: ChatSession
  ben: ChatSession
  roomId: string
  say(text: string): Promise<void>
  expectComplete(): Promise<void>
  /** The same people with the same tokens, after the box has moved to another address. */
  follow(publicUrl: string): void
}>

export async function converse(box: ReachableBox, messages: number): Promise<Conversation> {
  const server = { baseUrl: box.platformUrl, headers: { 'x-tenantry-edge-secret': box.edgeSecret } }
  const person = async (username: string) => ({
    ...(await registerUser(server, {
      username,
      password: `secret of ${username}`,
      sharedSecret: box.sharedSecret,
      admin: username === 'anna',
    })),
    baseUrl: box.publicUrl,
    headers: {},
  })
  let [anna, ben] = [await person('anna'), await person('ben')]
  for (const { userId } of [anna, ben]) await liftMessageLimit({ ...anna, ...server }, userId)
  const roomId = await createRoom(anna, { name: 'Class 1b', invite: [ben.userId] })
  await joinRoom(ben, roomId)
  const said: string[] = []
  const say = async (text: string) => {
    await sendMessage(said.length % 2 === 0 ? anna : ben, roomId, text)
    said.push(text)
  }
  for (let n = 1; n <= messages; n++) await say(`message ${n} of ${box.slug}`)
  const picture = new Uint8Array(64 * 1024).map((_, n) => n % 251)
  const media = await uploadMedia(anna, picture, 'image/png')
  const expectComplete = async () => {
    const read = await readMessages(ben, roomId)
    expect(read.map(({ body }) => body)).toEqual(said)
    expect(Buffer.from(await downloadMedia(ben, media)).equals(Buffer.from(picture))).toBe(true)
  }
  const follow = (publicUrl: string) => {
    ;[anna, ben] = [
      { ...anna, baseUrl: publicUrl },
      { ...ben, baseUrl: publicUrl },
    ]
  }
  return {
    get anna() {
      return anna
    },
    get ben() {
      return ben
    },
    roomId,
    say,
    expectComplete,
    follow,
  }
}

/** A chat server lets a person send one message in five seconds; a test says more than that. */
async function liftMessageLimit(admin: ChatSession, userId: string): Promise<void> {
  const response = await fetch(`${admin.baseUrl}/_synapse/admin/v1/users/${encodeURIComponent(userId)}/override_ratelimit`, {
    method: 'POST',
    headers: { ...admin.headers, authorization: `Bearer ${admin.accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages_per_second: 0, burst_count: 0 }),
  })
  if (!response.ok) throw new Error(`the message limit of ${userId} stays: ${response.status} ${await response.text()}`)
}

/** Asks the edge ten times a second, and waits there in a long poll as well, as a chat app does; keeps every kind of answer. */
export function pollEdge(box: ReachableBox, conversation: Conversation): { stop(): Promise<ReadonlyMap<string, number>> } {
  const seen = new Map<string, number>()
  const over = new AbortController()
  const ask = async (timeoutMs: number) => {
    let since = ''
    while (!over.signal.aborted) {
      const { kind, nextBatch } = await sync(box, conversation.ben, { timeoutMs, since, signal: timeoutMs > 0 ? over.signal : undefined })
      if (kind === 'stopped') return
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
      if (timeoutMs > 0) since = nextBatch ?? since
      await new Promise((next) => setTimeout(next, 100))
    }
  }
  const asking = Promise.all([ask(0), ask(30_000)])
  return {
    stop: async () => {
      over.abort()
      await asking
      return seen
    },
  }
}

type Sync = Readonly<{ timeoutMs: number; since: string; signal: AbortSignal | undefined; again?: boolean }>

/** One question for what is new, and in a word what came: a status, `fenced`, or why nothing did. */
async function sync(box: ReachableBox, session: ChatSession, asked: Sync): Promise<{ kind: string; nextBatch?: string | undefined }> {
  const { timeoutMs, since, signal, again } = asked
  const query = new URLSearchParams({ timeout: String(timeoutMs), ...(since ? { since } : {}) })
  try {
    const response = await fetch(`${box.publicUrl}/_matrix/client/v3/sync?${query}`, {
      headers: { authorization: `Bearer ${session.accessToken}` },
      ...(signal ? { signal } : {}),
    })
    const body = (await response.json().catch(() => undefined)) as { errcode?: string; next_batch?: string } | undefined
    const fenced =
      response.status === 503 &&
      response.headers.has('retry-after') &&
      response.headers.get('access-control-allow-origin') === '*' &&
      body?.errcode
    return { kind: fenced ? 'fenced' : String(response.status), nextBatch: body?.next_batch }
  } catch (error) {
    if (signal?.aborted) return { kind: 'stopped' }
    const { message, cause } = error as Error
    // An edge that reads its rules again closes idle connections. Like every app, it asks once more when that met its question.
    if (!again && (cause as { code?: string } | undefined)?.code === 'UND_ERR_SOCKET') return sync(box, session, { ...asked, again: true })
    return { kind: `no answer: ${(cause as Error | undefined)?.message ?? message}` }
  }
}
