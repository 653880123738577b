import { ClientEvent, createClient, type MatrixClient, type MatrixEvent, type Room } from 'matrix-js-sdk'
import { logger } from 'matrix-js-sdk/lib/logger.js'
import { eventually } from './programs.ts'

// The chat client of a user, with the library that Element is made of: it knows the chat server and the token that the platform gave it.

for (const one of [logger, logger.withPrefix('MatrixRTCSessionManager')]) one.disableAll()

export type ChatApp = Readonly<{
  client: MatrixClient
  /** The room, once this client has heard of it in its sync. */
  room(roomId: string): Promise<Room>
  /** The message with that text, once this client has heard of it in its sync. */
  hears(roomId: string, text: string): Promise<MatrixEvent>
}>

type Known = Readonly<{ baseUrl: string; userId: string; accessToken: string }>

/** A client that has done its first sync and goes on with it. */
export async function chatApp({ baseUrl, userId, accessToken }: Known): Promise<ChatApp> {
  const { device_id: deviceId } = await createClient({ baseUrl, accessToken }).whoami()
  const client = createClient({ baseUrl, userId, accessToken, deviceId: deviceId as string, useAuthorizationHeader: true })
  const prepared = new Promise<void>((done) => {
    client.on(ClientEvent.Sync, (state) => state === 'PREPARED' && done())
  })
  await client.startClient({ initialSyncLimit: 20, pollTimeout: 10_000 })
  await prepared
  const room = (roomId: string) =>
    eventually(`${userId} is in ${roomId}`, async () => {
      const found = client.getRoom(roomId)
      return found?.getMyMembership() === 'join' ? found : undefined
    })
  const hears = async (roomId: string, text: string) => {
    const heard = await room(roomId)
    return eventually(`${userId} hears ${text}`, async () =>
      heard
        .getLiveTimeline()
        .getEvents()
        .find((event) => event.getContent().body === text),
    )
  }
  return { client, room, hears }
}
