type Shown = Readonly<{ type: string; begins: readonly (readonly [at: number, bytes: string])[] }>

/** What browsers may show in place: pictures without scripts, and PDF. All of them tell themselves by their first bytes. */
const shown: readonly Shown[] = [
  { type: 'image/png', begins: [[0, '\x89PNG\r\n\x1a\n']] },
  { type: 'image/jpeg', begins: [[0, '\xff\xd8\xff']] },
  { type: 'image/gif', begins: [[0, 'GIF8']] },
  {
    type: 'image/webp',
    begins: [
      [0, 'RIFF'],
      [8, 'WEBP'],
    ],
  },
  { type: 'application/pdf', begins: [[0, '%PDF-']] },
]

/** Bytes of the beginning that tell a type. */
export const headBytes = 12

/** The type that may be shown, by the bytes themselves: what a client says, or a name ends in, counts for nothing. Null: only ever saved. */
export function shownType(head: Uint8Array): string | null {
  const text = String.fromCharCode(...head.subarray(0, headBytes))
  return shown.find(({ begins }) => begins.every(([at, bytes]) => text.startsWith(bytes, at)))?.type ?? null
}

const token = '[a-z0-9!#$&^_.+-]{1,100}'
const form = new RegExp(`^${token}/${token}$`)

/** What a client says that a file is, for other clients; what is no type is unknown. */
export function saidType(said: string): string {
  const type = said.slice(0, 200).split(';')[0]?.trim().toLowerCase() ?? ''
  return form.test(type) ? type : 'application/octet-stream'
}
