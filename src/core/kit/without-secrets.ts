const mark = '[secret]'

/** Text from outside (a server's answer, a library's error) before it is kept or shown: whatever of ours it repeats is taken out. */
export function withoutSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  const input = secrets.filter((one): one is string => one !== undefined && one.length >= 3)
  const forms = input.flatMap((one) => [one, encodeURIComponent(one)])
  return forms.toSorted((a, b) => b.length - a.length).reduce((clean, form) => clean.replaceAll(form, mark), text)
}
