import { ClientEvent, createClient, HttpApiEvent, type MatrixClient, type MatrixError, type MatrixEvent, type Room } from 'matrix-js-sdk'
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

type Device = Readonly<{ baseUrl: string; userId: string; accessToken: string; deviceId: string }>

/** A client with encryption that follows its sync and keeps its keys in memory. */
export async function encryptedApp(device: Device) {
  const client = createClient({ ...device, useAuthorizationHeader: true })
  await client.initRustCrypto({ useIndexedDB: false })
  const prepared = new Promise<void>((done) => void client.on(ClientEvent.Sync, (state) => state === 'PREPARED' && done()))
  await client.startClient({ pollTimeout: 5_000 })
  await prepared
  const crypto = client.getCrypto()
  if (!crypto) throw new Error('the client has no encryption')
  return {
    deviceId: device.deviceId,
    /** Writes an encrypted message, whose key is then one of the room keys. */
    write: async () => {
      const encryption = { type: 'm.room.encryption', state_key: '', content: { algorithm: 'm.megolm.v1.aes-sha2' } }
      const { room_id: roomId } = await client.createRoom({ initial_state: [encryption] })
      await eventually('the room is encrypted', async () => (await crypto.isEncryptionEnabledInRoom(roomId)) || undefined)
      await client.sendTextMessage(roomId, 'for us alone')
    },
    roomKeys: async () =>
      (await crypto.exportRoomKeys()).map(({ room_id, session_id, session_key }) => ({ room_id, session_id, session_key })),
    exportRoomKeys: () => crypto.exportRoomKeys(),
    importRoomKeys: crypto.importRoomKeys.bind(crypto),
    loggedOut: () => new Promise<MatrixError>((told) => void client.once(HttpApiEvent.SessionLoggedOut, told)),
    stop: () => client.stopClient(),
  }
}
