type NewPasswordPrompt = Readonly<{
  /** Reads one line without echo, on a new prompt each time: a used prompt still holds the rejected text. */
  prompt: (message: string) => Promise<string>
  /** Returns why a password is refused. */
  reasonAgainst: (password: string) => string | undefined
  notify: (line: string) => void
}>

/** Prompts for a new password and its repetition. Asks for both again while the password is refused or the two differ. */
export async function promptNewPassword({ prompt, reasonAgainst, notify }: NewPasswordPrompt): Promise<string> {
  for (;;) {
    const chosen = await prompt('New password (at least 12 characters)')
    const refused = reasonAgainst(chosen)
    if (refused !== undefined) notify(`The password ${refused}. Enter another one.`)
    else if ((await prompt('Repeat new password')) === chosen) return chosen
    else notify('The passwords do not match. Enter both again.')
  }
}
