import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

const maxNameBytes = 255
const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** Control characters, and those that reverse the direction of text: `fdp.exe` would read as `exe.pdf`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const invisible = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu

/** The name of a file. Names are not unique in a space; ids are. */
export const FileName = z
  .string()
  .max(1000)
  .transform((name) => name.normalize('NFC').trim())
  .refine((name) => name !== '' && name !== '.' && name !== '..', 'must be a name')
  .refine((name) => bytesOf(name) <= maxNameBytes, `must be at most ${maxNameBytes} bytes`)
  .refine((name) => name.search(invisible) === -1, 'must not contain control characters')
  .refine((name) => !/[/\\]/.test(name), 'must not contain slashes')

/** Makes a valid name from the one that a program sent with a file. Keeps the extension. */
export function safeFileName(sent: string): string {
  const last = sent.slice(0, 10_000).split(/[/\\]/).at(-1) ?? ''
  const visible = last.replace(invisible, '').normalize('NFC').trim()
  if (visible === '' || visible === '.' || visible === '..') return 'file'
  if (bytesOf(visible) <= maxNameBytes) return visible
  const [extension = ''] = /\.[A-Za-z0-9]{1,10}$/.exec(visible) ?? []
  return `${truncate(visible.slice(0, visible.length - extension.length), maxNameBytes - extension.length).trimEnd()}${extension}`
}

/** Cuts to a number of bytes without splitting a character. */
function truncate(text: string, maxBytes: number): string {
  let [result, bytes] = ['', 0]
  for (const character of text) {
    bytes += bytesOf(character)
    if (bytes > maxBytes) break
    result += character
  }
  return result
}

export const File = z.object({
  id: z.string(),
  spaceId: z.string(),
  folderId: z.string().nullable().meta({ description: 'null: in no folder' }),
  name: z.string(),
  bytes: z.int(),
  contentType: z.string().meta({ description: 'As declared by the uploader; downloads use the type detected from the bytes' }),
  sha256: z.string(),
  createdBy: z.string().meta({ description: 'The user who uploaded it' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  deletedAt: Timestamp.nullable().meta({ description: 'Restorable for 30 days from then' }),
})
export type File = z.infer<typeof File>

/** The size limit of one file. The edge has the same limit. */
export const maxFileBytes = 50 * 1024 * 1024

export const FolderKey = z.string().regex(/^fld_[0-9a-z]{20}$/, 'must be the id of a folder')
export const FileKey = z.string().regex(/^fil_[0-9a-z]{20}$/, 'must be the id of a file')

/** The text parts of an upload form. */
export const UploadFields = z.strictObject({
  name: FileName.optional().meta({ description: 'Default: the name sent with the file' }),
  folderId: FolderKey.optional(),
})

type Signature = Readonly<{ type: string; begins: readonly (readonly [at: number, bytes: string])[] }>

/** Types that browsers may display inline: images without scripts, and PDF. Each is recognised by its first bytes. */
const inlineTypes: readonly Signature[] = [
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

/** The number of first bytes that `inlineType` needs. */
export const headBytes = 12

/** The type a browser may display inline, detected from the bytes alone: declared types and extensions are not trusted. Null: download only. */
export function inlineType(head: Uint8Array): string | null {
  const text = String.fromCharCode(...head.subarray(0, headBytes))
  return inlineTypes.find(({ begins }) => begins.every(([at, bytes]) => text.startsWith(bytes, at)))?.type ?? null
}

const token = '[a-z0-9!#$&^_.+-]{1,100}'
const form = new RegExp(`^${token}/${token}$`)

/** The content type that the uploader declared, for other clients. Invalid types become `application/octet-stream`. */
export function declaredType(declared: string): string {
  const type = declared.slice(0, 200).split(';')[0]?.trim().toLowerCase() ?? ''
  return form.test(type) ? type : 'application/octet-stream'
}
