# The process of a worker: its name, and a connection to the database. A real one needs packages that the test images lack.
import time
import psycopg2

while True:
    try:
        database = psycopg2.connect(host="postgres", user="synapse", password="{{password}}", dbname="synapse")
        break
    except psycopg2.OperationalError:
        time.sleep(1)
while True:
    with database, database.cursor() as cursor:
        cursor.execute("select 1")
    time.sleep(5)
