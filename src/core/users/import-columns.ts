/** A column of an import, or a part of one: programs of schools have the name in two or three columns. */
type Field = 'username' | 'mail' | 'displayName' | 'firstName' | 'infix' | 'lastName' | 'roles' | 'locale'

/** Their names in exports of school programs, without case, blanks and hyphens. Of two columns for one field the name that is listed first wins. */
const headersOf: Readonly<Record<Field, readonly string[]>> = {
  username: ['username', 'benutzername', 'anmeldename', 'loginname', 'login', 'account', 'studentwebid', 'identifiant', 'gebruikersnaam'],
  mail: ['userprincipalname', 'email', 'emailaddress', 'emailadresse', 'mail', 'mailadresse'],
  displayName: ['displayname', 'anzeigename'],
  firstName: ['rufname', 'vorname', 'vornamen', 'firstname', 'forename', 'givenname', 'roepnaam', 'voornaam', 'prénom'],
  infix: ['tussenvoegsel'],
  lastName: ['nachname', 'familienname', 'langname', 'lastname', 'longname', 'surname', 'familyname', 'achternaam', 'nom'],
  roles: ['roles', 'role', 'rollen', 'rolle'],
  locale: ['locale'],
}

/** `First Name [Required]` and `first_name` are one header. */
const plainHeader = (header: string): string =>
  header
    .normalize('NFC')
    .replace(/\[.*?\]/g, '')
    .replace(/[\s_-]+/g, '')
    .toLowerCase()

/** The column of each field by its position, and the positions of columns without a field. */
type ImportColumns = Readonly<{ of: Readonly<Partial<Record<Field, number>>>; others: readonly number[] }>

/** Why the header of a file is invalid, or what its columns are. */
export function importColumns(head: readonly string[]): ImportColumns | string {
  const plain = head.map(plainHeader)
  const of: Partial<Record<Field, number>> = {}
  for (const field of Object.keys(headersOf) as Field[]) {
    const header = headersOf[field].find((name) => plain.includes(name))
    if (header === undefined) continue
    if (plain.filter((name) => name === header).length > 1)
      return `the header names the column ${quoted(head[plain.indexOf(header)])} twice`
    of[field] = plain.indexOf(header)
  }
  if (of.username !== undefined) delete of.mail
  if (of.displayName !== undefined) for (const part of nameParts) delete of[part]
  if (of.username === undefined && of.mail === undefined)
    return `no column has the usernames. The columns in the first line: ${head.map(quoted).join(', ')}. fix: add a column username, with a name such as joerg.mueller for each user`
  const used = new Set(Object.values(of))
  return { of, others: head.map((_, column) => column).filter((column) => !used.has(column)) }
}

const nameParts = ['firstName', 'infix', 'lastName'] as const

/** The cells of a row by the columns of an import. `domain`: what to cut from each username. */
export function importCells(
  { of }: ImportColumns,
  record: readonly string[],
  domain: string | undefined,
): Readonly<Record<string, string>> {
  const cell = (field: Field) => (of[field] === undefined ? '' : (record[of[field]] ?? '').trim())
  const username = cell('username') || cell('mail')
  const ending = `@${domain}`
  return {
    username: domain !== undefined && username.toLowerCase().endsWith(ending) ? username.slice(0, -ending.length) : username,
    displayName: of.displayName === undefined ? nameParts.map(cell).filter(Boolean).join(' ') : cell('displayName'),
    roles: cell('roles'),
    locale: cell('locale'),
  }
}

/** The domain that all usernames of a file have, if they are mail addresses of one domain. */
export function commonDomain({ of }: ImportColumns, records: readonly (readonly string[])[]): string | undefined {
  const column = of.username ?? of.mail ?? 0
  const names = records.map((record) => (record[column] ?? '').trim().toLowerCase()).filter(Boolean)
  const domain = /^[^@\s]+@([a-z0-9.-]+)$/.exec(names[0] ?? '')?.[1]
  return domain !== undefined && names.every((name) => name.endsWith(`@${domain}`)) ? domain : undefined
}

/** How the columns of a file were read, where that is not plain. */
export function columnNotes({ of }: ImportColumns, head: readonly string[], domain: string | undefined): string[] {
  const parts = nameParts.flatMap((part) => (of[part] === undefined ? [] : [quoted(head[of[part]])]))
  return [
    ...(domain === undefined ? [] : [`Usernames: ${quoted(head[of.username ?? of.mail ?? 0])} without @${domain}`]),
    ...(parts.length === 0 ? [] : [`Names: ${parts.join(' and ')}`]),
  ]
}

const quoted = (header = ''): string => `"${header.replace(/[\p{C}\s]+/gu, ' ').slice(0, 60)}"`
