def deeper():
    deeper()


deeper()
