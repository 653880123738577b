/** Reasons of refused passwords and login names in German; the others are shown in English. */
export const germanReasons: Readonly<Record<string, string>> = {
  'must be at least 8 characters': 'muss mindestens 8 Zeichen haben',
  'must be at most 72 bytes': 'ist zu lang',
  'must not be a common password: a well-known word, a row of the keyboard or a repetition':
    'darf kein bekanntes Passwort sein: kein übliches Wort, keine Tastenreihe, keine Wiederholung',
  'must not be the name of the user or of the organisation': 'darf nicht der Name der Person oder der Schule sein',
  'must be lower-case letters, digits and . _ = / + -, not starting with _': 'darf nur Kleinbuchstaben, Ziffern und . _ = / + - haben',
  'must not be digits alone: the chat server reserves such names': 'darf nicht nur aus Ziffern bestehen',
}
