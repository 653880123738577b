import { foldName } from './fold-name.ts'

/** A column of an import, or a part of one: programs of schools have the name in two or three columns. */
type Field = 'username' | 'mail' | 'displayName' | 'calledName' | 'firstName' | 'infix' | 'lastName' | 'roles' | 'locale'

/** Their names in exports of school programs, as `plainHeader` writes them. Of two columns for one field the name that is listed first wins. */
const headersOf: Readonly<Record<Field, readonly string[]>> = {
  username: [
    ...['username', 'benutzername', 'nutzername', 'anmeldename', 'loginname', 'login', 'loginid', 'account', 'adusername'],
    ...['studentwebid', 'teacherloginid', 'identifiant', 'nomdutilisateur', 'gebruikersnaam', 'loginaccountnaam'],
  ],
  // The address that the school gave before a private one.
  mail: [
    ...['userprincipalname', 'schoolemailaddress', 'schoolemail', 'schulemail', 'emailschulisch', 'schulischeemail', 'emaildienstlich'],
    ...['email', 'emailaddress', 'emailaddr', 'emailadresse', 'mail', 'mailadresse', 'adresseemail', 'emailadresseschulerin'],
  ],
  displayName: ['displayname', 'anzeigename'],
  calledName: ['rufname', 'preferredname', 'roepnaam'],
  firstName: ['vorname', 'vornamen', 'firstname', 'forename', 'givenname', 'voornaam', 'prenom'],
  infix: ['tussenvoegsel', 'tussenv'],
  // `name` beside a column of first names is the last name; alone it is the whole name.
  lastName: ['nachname', 'familienname', 'langname', 'lastname', 'longname', 'surname', 'familyname', 'achternaam', 'nom', 'name'],
  roles: ['roles', 'role', 'rollen', 'rolle'],
  locale: ['locale'],
}

/** `First Name [Required]` and `first_name` are one header, `Prénom` and `PRENOM` another. */
const plainHeader = (header: string): string => foldName(header.replace(/\[[^[\]]*\]/g, '')).replace(/[^\p{L}\p{N}]+/gu, '')

/** The column of each field by its position, and the positions of columns without a field. */
type ImportColumns = Readonly<{ of: Readonly<Partial<Record<Field, number>>>; others: readonly number[] }>

/** Why the header of a file is invalid, or what its columns are. */
export function importColumns(head: readonly string[], { emails = false }: Readonly<{ emails?: boolean }> = {}): ImportColumns | string {
  const plain = head.map(plainHeader)
  const of: Partial<Record<Field, number>> = {}
  for (const field of Object.keys(headersOf) as Field[]) {
    const header = headersOf[field].find((name) => plain.includes(name))
    if (header === undefined) continue
    if (plain.filter((name) => name === header).length > 1)
      return `the header names the column ${quoted(head[plain.indexOf(header)])} twice`
    of[field] = plain.indexOf(header)
  }
  if (of.username !== undefined && !emails) delete of.mail
  if (of.displayName !== undefined) for (const part of nameParts) delete of[part]
  if (of.username === undefined && of.mail === undefined)
    return `no column has the usernames. The first line has to name the columns, and is: ${head.map(quoted).join(', ')}. fix: add a column username, with a name such as joerg.mueller for each user`
  const used = new Set(Object.values(of))
  return { of, others: head.map((_, column) => column).filter((column) => !used.has(column)) }
}

const nameParts = ['calledName', 'firstName', 'infix', 'lastName'] as const

/** The cells of a row by the columns of an import. `domain`: what to cut from each username. */
export function importCells(
  { of }: ImportColumns,
  record: readonly string[],
  { domain, emails = false }: Readonly<{ domain: string | undefined; emails?: boolean }>,
): Readonly<Record<string, string>> {
  const cell = (field: Field) => (of[field] === undefined ? '' : (record[of[field]] ?? '').trim())
  const username = cell('username') || cell('mail')
  const parts = [cell('calledName') || cell('firstName'), cell('infix'), cell('lastName')]
  const ending = `@${domain}`
  return {
    username: domain !== undefined && username.toLowerCase().endsWith(ending) ? username.slice(0, -ending.length) : username,
    displayName: of.displayName === undefined ? parts.filter(Boolean).join(' ') : cell('displayName'),
    roles: cell('roles'),
    locale: cell('locale'),
    ...(emails ? { email: cell('mail') } : {}),
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
  const parts = [of.calledName ?? of.firstName, of.infix, of.lastName].flatMap((column) =>
    column === undefined ? [] : [quoted(head[column])],
  )
  return [
    ...(domain === undefined ? [] : [`Usernames: ${quoted(head[of.username ?? of.mail ?? 0])} without @${domain}`]),
    ...(parts.length === 0 ? [] : [`Names: ${parts.join(' and ')}`]),
  ]
}

const quoted = (header = ''): string => `"${header.replace(/[\p{C}\s]+/gu, ' ').slice(0, 60)}"`
