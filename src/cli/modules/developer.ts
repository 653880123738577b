import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Client } from '../../core/contract/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { storeContract } from '../../core/store/index.ts'
import { bearerOf, clean, command, fields, required, tenantUser, text } from '../kit/index.ts'

type Store = Client<typeof storeContract>

export const register = command('register', 'Become a developer of modules', {
  options: {
    email: required(text('--email <address>', 'mail address for results of reviews')),
    name: required(text('--name <name>', 'your name')),
    organization: required(text('--organization <name>', 'your organization')),
    code: text('--code <code>', 'invite code of an operator'),
  },
  run: async (context, { code, ...input }) => {
    const login = await tenantUser(context)
    const { registerDeveloper }: Store = context.api.store
    const body = { ...input, ...(code === undefined ? {} : { inviteCode: code }) }
    const developer = await registerDeveloper({ body }, { headers: bearerOf(login) })
    await context.logins.saveUser(context.url, { ...login, developerId: developer.id })
    return developer
  },
  view: ({ id, email }, style) =>
    fields(style, [
      ['developer', id],
      ['mails to', clean(email)],
    ]),
  asUser: true,
  examples: ['register --email anna@example.org --name Anna --organization Acme --code sti_Vb0m'],
})

export const submit = command('submit <zip>', 'Upload a package for review', {
  options: { developer: text('--developer <id>', 'developer account (default: as registered here)') },
  run: async (context, { zip: file, developer }) => {
    const login = await tenantUser(context)
    const id = developer ?? login.developerId
    if (id === undefined)
      throw problem('USAGE', 'The developer account is not known here. fix: tenantry modules register, or pass --developer <id>')
    const zip = await readFile(file).catch(() => {
      throw problem('NOT_FOUND', `${file} cannot be read. fix: tenantry modules pack <dir>`)
    })
    const fields = { manifest: await manifestIn(zip, file) }
    const content = new Blob([zip as Uint8Array<ArrayBuffer>])
    const { uploadModule }: Store = context.api.store
    const headers = { ...bearerOf(login), 'x-developer-id': id }
    return uploadModule({ upload: { content, fileName: basename(file), fields } }, { headers, signal: context.signal })
  },
  view: ({ submissionId, checksum }, style) =>
    fields(style, [
      ['submission', submissionId],
      ['status', 'in review'],
      ['sha256', checksum],
    ]),
  asUser: true,
  examples: ['submit attendance-0.1.0.zip'],
})

/** The text of `module.json`. Throws MODULE_INVALID. */
async function manifestIn(zip: Buffer, file: string): Promise<string> {
  const [{ moduleText, readArchive }, { manifestFile }] = await Promise.all([
    import('../../node/module-package/index.ts'),
    import('../../core/modules/index.ts'),
  ])
  let manifest: string | undefined
  await readArchive(zip, (one) => {
    if (one.name === manifestFile) manifest = moduleText(one)
  })
  if (manifest === undefined) throw problem('MODULE_INVALID', `${file} has no ${manifestFile}. fix: tenantry modules pack <dir>`)
  return manifest
}
